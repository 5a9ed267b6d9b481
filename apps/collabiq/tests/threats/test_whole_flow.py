"""Mails, services and files that mean harm, to the whole system."""

import json
import logging
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from apps.collabiq.tests.world import World
from collabiq.samples import mailbox
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.infisical import CLIENT_SECRET
from collabiq.stand_ins.serving import Serving
from collabiq.stand_ins.world import GEMINI_KEY, NOTION_KEY
from holdfast.systems import Answer

ENDED_WELL = {"processed", "needs_review", "skipped"}


def sample(name: str) -> bytes:
    return next(each.raw for each in mailbox() if each.name == name)


def secrets_of(world: World) -> list[str]:
    """Return everything that nobody may ever read."""
    credentials = world.stand_ins.gmail.credentials("")
    return [
        NOTION_KEY,
        GEMINI_KEY,
        CLIENT_SECRET,
        credentials["refresh_token"],
        credentials["client_secret"],
        *world.stand_ins.gmail.tokens,
    ]


def written(folder: Path, database_url: str) -> str:
    """Return all that stands in files below a folder, and in the database."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".db" not in path.name]
    found = [path.name + path.read_text("utf-8", "replace") for path in paths]
    return "\n".join([*found, *rows_of(database_url)])


def rows_of(database_url: str) -> Iterator[str]:
    """Yield every row of every table."""
    if database_url.startswith("sqlite"):
        with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection:
            yield from connection.iterdump()
        return
    with psycopg.connect(database_url) as opened:
        tables = opened.execute(
            "select quote_ident(schemaname) || '.' || quote_ident(tablename) from pg_tables"
            " where schemaname not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        for (table,) in tables:
            yield from (
                str(row[0]) for row in opened.execute(f"select row_to_json(t)::text from {table} t")
            )


def test_every_odd_sample_ends_well_and_no_secret_is_written_anywhere(
    world: World, database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    names = {
        world.deliver_raw(each.raw): each.name
        for each in mailbox()
        if each.name.startswith(("odd", "mixed", "korean-only"))
        if len(each.raw) < 1_000_000
    }
    world.run()
    ends = {names[row.email_id]: row.status for row in world.emails()}
    world.notion.serving.fault = "unauthorized"
    world.deliver("Lumenkit x 온들마트", "Lumenkit and 온들마트 meet on 2026-11-05.")
    world.poll()
    world.clock.advance(120)
    world.notion.serving.fault = None
    world.gemini.serving.fault = "unauthorized"
    world.deliver("나무결 x 온들마트", "나무결과 온들마트가 11월 5일에 만납니다.")
    world.poll()
    world.clock.advance(120)
    world.gmail.serving.fault = "token_revoked"
    world.stand_ins.gmail.expire_tokens()
    world.poll()
    world.system.dlq.mirror.flush()

    everything = written(tmp_path, database_url) + caplog.text

    assert set(ends.values()) <= ENDED_WELL, ends
    assert len(ends) == len(names)
    assert world.entries() != []
    assert len(world.stand_ins.gmail.tokens) > 0
    told = ("Lumenkit", "Notion refuses the key", "API_KEY_INVALID", "invalid_grant")
    assert [word for word in told if word not in everything] == []
    assert [each for each in secrets_of(world) if each in everything] == []


def test_a_spoofed_sender_and_an_injection_are_for_a_person_to_look_at(world: World):
    spoofed = world.deliver_raw(sample("odd-spoofed"))
    world.gemini.serving.fail_next("invented_details")
    world.run()
    injected = world.deliver_raw(sample("odd-injection"))
    world.gemini.serving.fail_next("strange_ids")
    world.poll()

    for email_id in (spoofed, injected):
        row = world.email(email_id)
        assert row.status == "needs_review"
        assert row.review != ()
        assert world.page_of(email_id)["properties"]["검토필요"]["checkbox"] is True
    known = {page["id"] for page in world.stand_ins.notion.rows_of(world.stand_ins.companies_id)}
    for page in world.pages():
        for column in ("스타트업명", "협업기관"):
            assert {each["id"] for each in page["properties"][column]["relation"]} <= known


def test_what_a_mail_says_becomes_plain_text_and_nothing_else(world: World):
    email_id = world.deliver(
        "소리담\u202e x 서하백화점 https://evil.example",
        "소리담과 서하백화점이 만납니다. https://evil.example @everyone $$x$$ [a](https://b.c)",
    )
    world.run()

    page = world.page_of(email_id)
    whole = json.dumps([page["properties"], world.stand_ins.notion.blocks[page["id"]]])
    assert '"mention"' not in whole
    assert '"equation"' not in whole
    assert '"link": {' not in whole


def test_no_mail_has_a_file_written_outside_of_the_data_folder(world: World, tmp_path: Path):
    world.notion.serving.fault = "invalid"
    mails = {
        world.deliver_raw(sample("odd-path-in-message-id")),
        world.deliver_raw(sample("english-nested-multipart")),
    }
    world.run()
    world.system.dlq.mirror.flush()

    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    own = [path for path in files if not path.name.startswith("holdfast.db")]
    assert mails <= {entry["email_id"] for entry in world.entries()}
    assert {path.parts[:2] for path in own} == {("data", "dlq"), ("data", "logs")}
    assert all((tmp_path / path).stat().st_mode & 0o077 == 0 for path in own)


def test_what_notion_refuses_for_good_is_not_asked_for_again_and_again(world: World):
    world.notion.serving.fault = "invalid"
    for number in range(6):
        world.deliver("Lumenkit x 온들마트", f"Lumenkit and 온들마트 meet, number {number}.")

    world.run()

    assert {row.status for row in world.emails()} == {"failed"}
    assert len(world.notion.serving.calls) <= 3


def test_nobody_is_called_but_the_four_services(world: World, monkeypatch: pytest.MonkeyPatch):
    called: set[int] = set()
    plain = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple):
            assert address[0] in {"127.0.0.1", "::1"}, address
            called.add(address[1])
        plain(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", connect)
    world.deliver(
        "Lumenkit x 온들마트",
        "Lumenkit and 온들마트 meet: https://169.254.169.254/latest/meta-data/ and "
        "http://127.0.0.1:1/admin, see file:///etc/passwd",
        Content_Location="http://127.0.0.1:1/base",
        List_Unsubscribe="<http://127.0.0.1:1/unsubscribe>",
    )
    world.run()

    ports = {int(url.rpartition(":")[2]) for url in world.served.urls.values()}
    assert len(world.pages()) == 1
    assert called <= ports


@pytest.mark.parametrize(
    "service",
    [
        "gemini",
        pytest.param("gmail", marks=pytest.mark.slow),
        pytest.param("notion", marks=pytest.mark.slow),
    ],
)
def test_a_service_that_sends_callers_elsewhere_is_not_followed(world: World, service: str):
    with Serving(GmailStandIn()) as evil:

        def elsewhere(call):
            return Answer(307, b"", headers={"Location": f"{evil.url}{call.path}"})

        scripted = getattr(world, service)
        for method, path in (("GET", "messages/"), ("POST", "generateContent"), ("POST", "pages")):
            scripted.next(method, path, *[elsewhere] * 20)
        world.deliver("Lumenkit x 온들마트", "Lumenkit and 온들마트 meet on 2026-11-05.")
        world.run(turns=60)

        assert evil.calls == []
        assert scripted.calls != []


BOMBS = {
    "deep": b"".join(
        f"Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n".encode()
        for at in range(2_000)
    ),
    "header": b"X-Long: " + b"a" * 2_000_000 + b"\r\n\r\nhello there",
    "markup": b"Content-Type: text/html\r\n\r\n" + b"<div>" * 60_000 + b"hello there",
    "charset": b"Content-Type: text/plain; charset=utf-99\r\n\r\n\xff\xfe\x00 hello there",
    "noise": b"Content-Transfer-Encoding: base64\r\n\r\n" + bytes(range(256)) * 20,
}


def test_bombs_hold_nobody_up(world: World):
    for number, bomb in enumerate(BOMBS.values()):
        top = f"Subject: bomb {number}\r\nMessage-ID: <{number}@bomb.example>\r\n".encode()
        world.deliver_raw(top + bomb)
    good = world.deliver("Lumenkit x 온들마트", "Lumenkit and 온들마트 meet on 2026-11-05.")

    world.run()

    assert {row.status for row in world.emails()} <= ENDED_WELL
    assert world.page_of(good)
    assert world.entries() == []


def test_a_mail_that_hangs_the_parser_fails_by_itself_and_holds_nobody_up(world_of):
    bomb = b"Subject: bomb\r\nContent-Type: text/html\r\n\r\n" + b"&#1;&lt;" * 500_000
    with world_of(MAIL_PARSE_LIMIT_MS="200") as world:
        hostile = world.deliver_raw(bomb)
        other = world.deliver()
        began = time.monotonic()
        world.run()
        took_s = time.monotonic() - began

        row = world.email(hostile)
        assert (row.status, row.reason) == (
            "failed",
            "parsing this mail takes longer than 0.2 seconds",
        )
        assert world.email(other).status in ENDED_WELL
        [record] = world.records(email_id=hostile)
        assert (record["severity"], record["context"]["operation"]) == ("ERROR", "gmail_fetch")
        [entry] = world.entries()
        assert (entry["email_id"], entry["operation_type"]) == (hostile, "gmail_fetch")
        assert world.system.circuits.state_of("gmail").failure_count == 0
        assert took_s < 10.0
