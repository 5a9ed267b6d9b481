"""The mailbox: nothing is lost, nothing comes twice, and nobody is called for nothing."""

import json
from collections import Counter

import pytest

from apps.collabiq.tests.world import World, status
from collabiq.inbox.feeding import AT_ONCE
from collabiq.inbox.poller import Poller
from collabiq.rows import GMAIL, count_under_way, notice_emails
from collabiq.samples import ADDRESS, ALERT_SENDER, mailbox
from collabiq.stand_ins.world import GEMINI_KEY
from holdfast.testing import drain, run_inline

HISTORY = ("GET", "/history")
LIST = ("GET", "/messages")
TOKEN = ("POST", "/token")


def sign_in_again(world: World) -> None:
    """Do what `collabiq gmail login` does: other credentials are in the file."""
    gmail = world.stand_ins.gmail
    gmail.refresh_token = "another-refresh-token"
    gmail.revoke(revoked=False)
    path = world.built.config.gmail_token_path
    assert path is not None
    path.write_text(json.dumps(gmail.credentials(world.served.urls["gmail"])))


def test_quiet_polls_leave_no_jobs(world: World):
    world.deliver()
    world.run()
    before = world.engine.count()
    for _ in range(10):
        world.poll()

    assert world.engine.count() == before
    assert world.system.inbox.last_poll()["found"] == 0


def test_a_token_that_is_refused_in_the_middle_is_replaced(world: World):
    world.run()
    world.stand_ins.gmail.expire_tokens()
    email_id = world.deliver()
    world.poll()

    assert world.email(email_id).page_id
    assert world.records() == []


def test_a_revoked_grant_is_told_once_and_nobody_calls_until_somebody_signs_in(world_of, tmp_path):
    path = tmp_path / "token.json"
    with world_of(GMAIL_TOKEN_PATH=str(path)) as world:
        first = world.deliver()
        world.run()
        world.stand_ins.gmail.revoke()
        missed = [world.deliver(subject=f"Lumenkit {n} x Orchard Retail") for n in range(3)]
        for _ in range(4):
            world.poll()
        calls = len(world.gmail.calls)
        for _ in range(10):
            world.poll()
        critical = world.records(severity="CRITICAL")
        entries = world.entries()
        silent = len(world.gmail.calls) == calls
        sign_in_again(world)
        world.poll()

        assert world.email(first).page_id
        assert [each["context"]["operation"] for each in critical] == ["gmail_fetch"]
        assert [each["operation_type"] for each in entries] == ["gmail_fetch"]
        assert entries[0]["original_payload"]["mailbox"] == world.built.config.mailbox
        assert silent
        assert all(world.email(each).page_id for each in missed)
        assert [each["status"] for each in world.entries()] == ["completed"]


def test_mails_under_way_wait_for_somebody_to_sign_in(world_of, tmp_path):
    path = tmp_path / "token.json"
    with world_of(GMAIL_TOKEN_PATH=str(path)) as world:
        email_id = world.deliver()
        world.poller.turn()
        drain(world.engine)
        world.poller.turn()  # the mail has its job now
        world.stand_ins.gmail.revoke()
        world.poller.turn()
        for _ in range(3):
            world.clock.advance(15)
            world.poller.turn()
            run_inline(world.engine)
        critical = len(world.records(severity="CRITICAL"))
        sign_in_again(world)
        world.clock.advance(30)
        world.run()

        assert critical == 1
        assert world.email(email_id).page_id
        assert [each["operation_type"] for each in world.entries(status="pending")] == []


def test_a_history_that_gmail_has_forgotten_leads_to_a_full_sync(world: World):
    first = world.deliver()
    world.run()
    missed = world.deliver(subject="Lumenkit x Orchard Retail")
    world.stand_ins.gmail.expire_history()
    world.poll()
    again = world.deliver(subject="Quietmeter x Orchard Retail")
    world.poll()

    assert [world.email(each).page_id is not None for each in (first, missed, again)] == [True] * 3
    assert len(world.pages()) == 3
    assert world.records() == []
    assert len(world.gmail.times("GET", f"/messages/{first}")) == 1


def test_a_mail_that_is_deleted_before_it_is_fetched_is_skipped(world: World):
    email_id = world.deliver()
    world.stand_ins.gmail.remove(email_id)
    world.stand_ins.gmail.added.append((int(world.stand_ins.gmail.history_id), email_id))
    with world.engine.transaction() as tx:
        notice_emails(tx, [email_id], mailbox=world.built.config.mailbox, source=GMAIL)
    world.run()

    assert (world.email(email_id).status, world.email(email_id).reason) == ("skipped", "gone")
    assert world.entries() == []


def test_mails_that_are_somebodys_own_are_not_read(world: World):
    world.run()
    own = world.deliver(To="member@example.com")
    handed_on = world.deliver(To="everybody@partner.example", List_Post=f"<mailto:{ADDRESS}>")
    world.poll()

    assert (world.email(own).status, world.email(own).reason) == ("skipped", f"not to {ADDRESS}")
    assert world.email(own).subject is None
    assert world.email(handed_on).page_id


def test_many_mails_come_by_pages_and_few_are_under_way(world: World):
    ids = {world.deliver_raw(b"From: a@b.c\r\nSubject: x\r\n\r\nx") for _ in range(1_200)}
    world.poller.turn()
    drain(world.engine)
    world.poller.turn()
    found = world.emails()

    assert {each.email_id for each in found} == ids
    assert len(world.gmail.times("GET", "/users/me/messages")) == 3
    assert sum(each.job_id is not None for each in found) == AT_ONCE


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_1200_mails_at_once_are_all_written_once_with_few_under_way(world_of):
    with world_of(NOTION_RATE_LIMIT_PER_SEC="1000") as world:
        ids = {world.deliver(subject=f"Firm{number} x Orchard Retail") for number in range(1_200)}
        most = 0
        for _ in range(300):
            world.poller.turn()
            with world.engine.reading() as tx:
                most = max(most, count_under_way(tx, source=GMAIL))
            drain(world.engine)
            world.poller.turn()
            world.clock.advance(1)
            counts = world.counts()
            if counts["needs_review"] + counts["processed"] == len(ids):
                break
        pages = Counter(
            page["properties"]["Email ID"]["rich_text"][0]["plain_text"] for page in world.pages()
        )

        assert pages == dict.fromkeys(ids, 1)
        assert most <= AT_ONCE
        assert world.records() == []


def test_polls_that_fail_are_one_outage_with_one_entry(world: World):
    world.run()
    world.gmail.next(*HISTORY, *[status(503)] * 12)
    email_id = world.deliver()
    for _ in range(6):
        world.poll()
    during = [each["severity"] for each in world.records()]
    entries = world.entries()
    for _ in range(6):
        world.poll()

    assert during.count("ERROR") == 1
    assert [each["operation_type"] for each in entries] == ["gmail_fetch"]
    assert world.email(email_id).page_id
    assert [each["status"] for each in world.entries()] == ["completed"]


def test_one_of_two_pollers_looks_at_the_mailbox(world: World):
    other: Poller = world.built.flow.poller(world.engine)
    world.run()
    calls = len(world.gmail.times(*HISTORY))
    world.clock.advance(15)
    world.poller.turn()
    other.turn()

    assert len(world.gmail.times(*HISTORY)) == calls + 1


def test_an_alert_of_our_own_is_not_read(world_of):
    with world_of(ALERT_SENDERS=ALERT_SENDER) as world:
        [alert] = [each for each in mailbox() if each.name == "odd-own-alert"]
        email_id = world.deliver_raw(alert.raw)
        world.run()

        assert (world.email(email_id).status, world.email(email_id).reason) == (
            "skipped",
            "automatic: own",
        )
        assert world.pages() == []


def test_a_poll_on_request_joins_the_one_under_way(world: World):
    first = world.system.inbox.fetch(by="kim")
    second = world.system.inbox.fetch(by="lee")
    drain(world.engine)
    third = world.system.inbox.fetch(by="lee")

    assert first == {"poll_id": second["poll_id"], "joined": False}
    assert second["joined"]
    assert third["poll_id"] != first["poll_id"]


def test_gmail_may_say_that_something_is_new(world: World):
    world.run()
    email_id = world.deliver()
    world.poller.turn()
    before = [each.email_id for each in world.emails()]
    world.system.inbox.notified()
    world.run()

    assert before == []
    assert world.email(email_id).page_id


def test_no_mail_is_taken_without_room_on_the_disk(world_of):
    with world_of(DATA_MIN_FREE_BYTES=str(2**49)) as world:
        world.deliver()
        world.run(turns=3)

        assert world.emails() == []
        assert world.gmail.calls == []


def test_no_secret_is_in_what_is_kept(world: World, tmp_path):
    world.gmail.next(*HISTORY, status(503))
    world.notion.next("POST", "/v1/pages", status(401), status(500), status(500), status(500))
    world.deliver()
    world.run()
    world.system.dlq.sync()
    texts = "".join(each.read_text() for each in tmp_path.rglob("*.json"))

    assert texts
    assert GEMINI_KEY not in texts
    assert "stand-in-notion-key" not in texts
    assert "stand-in-refresh-token" not in texts
