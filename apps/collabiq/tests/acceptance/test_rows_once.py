"""Each mail has one row in Notion, whatever becomes of requests and workers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from apps.collabiq.tests.world import World, mail, status
from collabiq.emails.submitting import process_again
from collabiq.flow.stages import to_write
from collabiq.flow.writing import ToWrite
from collabiq.refusals import AlreadyProcessed
from collabiq.rows import begin_writing
from holdfast import RetryLater
from holdfast.systems import Answer, Call
from holdfast.testing import drain, run_inline

CREATE = ("POST", "/v1/pages")
QUERY = ("POST", "/query")


def refused(message: str):
    """Return the answer of Notion to what it cannot take."""
    body = {"object": "error", "status": 400, "code": "validation_error", "message": message}
    return lambda _call: Answer(400, json.dumps(body).encode())


def is_absent(world: World, email_id: str) -> bool:
    """Return whether the row of a mail was looked for in vain."""
    return world.email(email_id).row_state == "absent"


def test_a_mail_becomes_one_row_with_two_requests(world: World):
    email_id = world.deliver()
    world.run()
    requests = len(world.notion.times(*CREATE)) + len(world.notion.times(*QUERY))

    assert world.result(email_id)["outcome"] == "created"
    assert world.page_of(email_id)["id"] == world.email(email_id).page_id
    assert requests == 3  # one of them reads the companies, for all mails


def test_an_answer_that_is_lost_after_the_row_was_made_leaves_one_row(world: World):
    world.notion.next(*CREATE, world.notion.fault("lost_answer"))
    email_id = world.deliver()
    world.run()

    assert len(world.pages()) == 1
    assert world.result(email_id)["outcome"] == "adopted"
    assert len(world.notion.times(*CREATE)) == 1


def test_a_row_is_not_made_again_before_the_index_can_know_of_it(world: World):
    world.stand_ins.notion.index_lag_s = 3.0
    world.notion.next(*CREATE, world.notion.fault("lost_answer"))
    world.deliver()
    world.run()
    [made_at] = world.notion.times(*CREATE)
    looked_up_at = world.notion.times(*QUERY)[-1]

    assert len(world.pages()) == 1
    assert looked_up_at - made_at >= 5.0


def test_a_server_failure_that_made_nothing_is_tried_again_after_a_lookup(world: World):
    world.notion.next(*CREATE, status(502))
    email_id = world.deliver()
    world.run()

    assert world.result(email_id)["outcome"] == "created"
    assert len(world.pages()) == 1
    assert len(world.notion.times(*QUERY)) == 3  # companies, before, and after the failure


def test_a_lookup_that_fails_is_a_failure_and_not_an_absence(world: World):
    email_id = world.deliver()
    world.run()
    world.notion.next(*QUERY, status(500), status(500), status(500))
    second = world.deliver(subject="Lumenkit x Orchard Retail")
    world.poll()

    assert world.email(email_id).status == "needs_review"
    assert world.email(second).status == "failed"
    assert len(world.pages()) == 1


def test_a_conflict_twice_takes_three_requests(world: World):
    world.notion.next(*CREATE, *[world.notion.fault("conflict")] * 2)
    email_id = world.deliver()
    world.run()

    assert world.result(email_id)["outcome"] == "created"
    assert len(world.notion.times(*CREATE)) == 3
    assert len(world.notion.times(*QUERY)) == 2  # nothing was made, so nothing is looked up


def absent_mail(world: World) -> ToWrite:
    """Have a mail be as far as that its row is made next, and return what it is to be."""
    email_id = world.deliver()
    world.poller.turn()
    drain(world.engine)
    world.poller.turn()
    run_inline(world.engine, advance=True, until=lambda: is_absent(world, email_id))
    job_id = world.email(email_id).job_id or ""
    return to_write(job_id, email_id, world.engine.results(job_id)["match"], "text")


@contextmanager
def held_create(world: World, work: Callable[[], object]) -> Iterator[None]:
    """Do work in another thread, whose making of a row gets its answer at the end."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(call: Call) -> Answer:
        inside.set()
        go_on.wait(10)
        return world.notion.stand_in(call)

    world.notion.next(*CREATE, slow)
    first = threading.Thread(target=work)
    first.start()
    try:
        assert inside.wait(10)
        yield
    finally:
        go_on.set()
        first.join(10)


def test_two_workers_with_one_mail_make_one_row(world: World):
    mail_to_write = absent_mail(world)
    writer = world.built.flow.works.writer

    with (
        held_create(world, lambda: writer.write(mail_to_write)),
        pytest.raises(RetryLater, match="may have made"),
    ):
        writer.write(mail_to_write)
    done = writer.write(mail_to_write)

    assert len(world.pages()) == 1
    assert done["outcome"] == "created"


def test_of_two_workers_that_begin_a_row_one_makes_it(world: World):
    mail_to_write = absent_mail(world)
    writer = world.built.flow.works.writer

    with (
        held_create(world, lambda: writer.write(mail_to_write)),
        world.engine.transaction() as tx,
    ):
        # What a worker does that has read the mail before the other one began.
        since = tx.now - timedelta(minutes=1)
        began_at = begin_writing(tx, mail_to_write.email_id, looked_up_since=since)

    assert began_at is None

    assert len(world.pages()) == 1
    assert len(world.notion.times(*CREATE)) == 1


def test_a_pause_that_notion_asks_for_is_kept_by_everybody(world: World):
    for name in ("Lumenkit", "Brightfold", "Quietmeter"):
        world.deliver(subject=f"{name} x Orchard Retail")
    world.notion.next(*CREATE, status(429, retry_after="30"))
    world.run()
    at = sorted(when for when, _, _ in world.notion.calls)
    paused_at = world.notion.times(*CREATE)[0]
    later = [when for when in at if when > paused_at]

    assert len(world.pages()) == 3
    assert min(later) - paused_at >= 30
    assert world.system.circuits.state_of("notion").state.value == "CLOSED"


def test_a_refused_property_is_named_and_a_corrected_payload_is_sent_once(world: World):
    words = "body failed validation: body.properties.협업강도.select.name should be shorter"
    world.notion.next(*CREATE, refused(words))
    email_id = world.deliver()
    world.run()
    [entry] = world.entries()
    payload = entry["original_payload"]
    del payload["properties"]["협업강도"]
    world.system.dlq.replace(entry["dlq_id"], payload, by="kim")
    world.system.dlq.replay(entry["dlq_id"], by="kim")
    world.run()

    assert entry["operation_type"] == "notion_write"
    assert "협업강도" in entry["error_details"]["error_message"]
    assert world.page_of(email_id)["properties"]["협업강도"]["select"] is None
    assert world.email(email_id).status == "needs_review"
    with pytest.raises(AlreadyProcessed):
        world.system.dlq.replay(entry["dlq_id"], by="kim")


def test_a_column_that_is_gone_is_left_out_and_the_mail_is_looked_at(world: World):
    first = world.deliver()
    world.run()
    world.stand_ins.notion.remove_column(world.stand_ins.rows_id, "협업강도")
    second = world.deliver(subject="Lumenkit x Harbor Logistics")
    world.poll()
    third = world.deliver(subject="Quietmeter x Harbor Logistics")
    world.poll()
    warnings = [each["message"] for each in world.records(severity="WARNING")]

    assert world.email(first).status == "needs_review"
    for email_id in (second, third):
        assert "the column 협업강도 is missing" in world.email(email_id).review
        assert world.page_of(email_id)["properties"]["검토필요"]["checkbox"] is True
    assert len([each for each in warnings if "협업강도" in each]) == 1
    assert world.entries() == []


def test_a_mail_that_comes_twice_is_written_once(world: World):
    raw = mail("Lumenkit x Orchard Retail", "Lumenkit and Orchard Retail met.", number=7)
    first, second = world.deliver_raw(raw), world.deliver_raw(raw)
    world.run()

    assert len(world.pages()) == 1
    assert world.email(first).status == "needs_review"
    assert (world.email(second).status, world.email(second).reason) == (
        "skipped",
        f"duplicate of {first}",
    )


def test_the_same_two_companies_within_a_week_are_written_and_looked_at(world: World):
    first = world.deliver()
    world.run()
    second = world.deliver()
    world.poll()
    body = world.stand_ins.notion.blocks[world.email(second).page_id or ""]

    assert len(world.pages()) == 2
    assert f"same companies as {first} within a week" in world.email(second).review
    assert (world.email(first).page_url or "?") in json.dumps(body)


def test_a_row_that_is_there_is_changed_where_that_is_wanted(world_of):
    with world_of(NOTION_DUPLICATE_STRATEGY="update") as world:
        email_id = world.deliver()
        world.run()
        page_id = world.email(email_id).page_id
        process_again(world.engine, email_id)
        world.run()

        assert world.result(email_id)["outcome"] == "updated"
        assert [each["id"] for each in world.pages()] == [page_id]


def test_a_rerun_adopts_the_row_that_is_there(world: World):
    email_id = world.deliver()
    world.run()
    process_again(world.engine, email_id)
    world.run()

    assert world.result(email_id)["outcome"] == "adopted"
    assert len(world.pages()) == 1


def test_error_records_are_kept_for_each_attempt_that_failed(world: World):
    world.notion.next(*CREATE, status(502))
    email_id = world.deliver()
    world.run()
    [record] = world.records(email_id=email_id)

    assert record["severity"] == "WARNING"
    assert record["category"] == "TRANSIENT"
    assert record["http_status"] == 502
    assert record["context"]["operation"] == "notion_write"
