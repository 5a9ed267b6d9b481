"""Services that answer nonsense: a record, a retry or an entry follows, and never a crash."""

import base64
import json

import pytest

from apps.collabiq.tests.world import World
from holdfast.systems import Answer

NONSENSE = {
    "no json": Answer(200, b"<html>a proxy says hello</html>", "text/html"),
    "null": Answer(200, b"null"),
    "deep": Answer(200, b"[" * 100_000),
    "another form": Answer(200, b'{"raw": 7, "results": 7, "candidates": 7, "id": 7}'),
    "lone surrogate": Answer(200, b'{"raw": "\\ud83d", "id": "\\ud83d", "candidates": []}'),
}
CALLS = {
    "gmail": [
        ("GET", "/messages/"),
        ("GET", "/messages"),
        ("GET", "/history"),
        ("GET", "/profile"),
    ],
    "gemini": [("POST", "generateContent")],
    "notion": [("POST", "/query"), ("POST", "/pages"), ("GET", "/databases"), ("GET", "/users")],
}


@pytest.mark.parametrize("service", CALLS)
def test_nonsense_costs_an_attempt_and_no_mail(world: World, service: str):
    scripted = getattr(world, service)
    for count, nonsense in enumerate(NONSENSE, start=1):
        # Those that are only called at the start get the first kind, all others each of them.
        scripted.rules.clear()
        for method, path in CALLS[service]:
            scripted.next(method, path, lambda _call, kind=nonsense: NONSENSE[kind])
        email_id = world.deliver(subject=f"Firm{count} x Orchard Retail")
        world.clock.advance(15)

        world.run(turns=80)

        row = world.email(email_id)
        assert row.status in {"processed", "needs_review", "failed"}, nonsense
        if row.status == "failed":  # what an answer could not say three times
            (entry,) = [each for each in world.entries() if each["email_id"] == email_id]
            world.system.dlq.replay(entry["dlq_id"], by="me")
            world.clock.advance(120)
            world.run(turns=80)
        assert world.email(email_id).status in {"processed", "needs_review"}, nonsense
        assert len(world.pages()) == count


def test_a_message_that_is_no_mail_is_told_of_and_holds_nobody_up(world: World):
    strange = (b"", b"\x00\x01", b"no header at all", b"\r\n\r\n\r\n")
    odd = [world.deliver_raw(raw) for raw in strange]
    good = world.deliver()

    world.run()

    for email_id in odd:
        assert world.email(email_id).status in {"skipped", "failed"}
        assert world.email(email_id).reason
    assert world.page_of(good)


def test_ids_that_are_none_are_left_out(world: World):
    good = world.deliver()

    def listed(_call):
        ids = ["../../etc/passwd", "a" * 100, "", "x y", good]
        return Answer(200, json.dumps({"messages": [{"id": each} for each in ids]}).encode())

    world.gmail.next("GET", "/messages", listed)
    world.run()

    assert [row.email_id for row in world.emails()] == [good]


def test_a_mail_of_more_than_25_mb_is_skipped_with_its_reason(world: World):
    odd = world.deliver()
    huge = base64.urlsafe_b64encode(b"Subject: s\r\n\r\n" + b"x" * (25 * 1024 * 1024)).decode()
    document = {"id": odd, "threadId": odd, "sizeEstimate": 26 * 1024 * 1024, "raw": huge}

    world.gmail.next("GET", "/messages/", lambda _: Answer(200, json.dumps(document).encode()))
    world.run()

    row = world.email(odd)
    assert (row.status, world.pages()) == ("skipped", [])
    assert "large" in (row.reason or "")


def test_columns_that_vanish_between_two_mails_cost_their_values_only(world: World):
    world.deliver()
    world.run()
    world.stand_ins.notion.remove_column(world.stand_ins.rows_id, "협업강도")
    world.stand_ins.notion.remove_column(world.stand_ins.rows_id, "요약")

    second = world.deliver("Lumenkit x 온들마트", "Lumenkit and 온들마트 meet on 2026-11-05.")
    world.poll()
    world.clock.advance(30)
    world.run()

    row = world.email(second)
    assert row.status == "needs_review"
    assert "협업강도" not in world.page_of(second)["properties"]
    assert any("협업강도" in record["message"] for record in world.records(severity="WARNING"))
    assert world.entries() == []
