"""What a tail tells, in which order, and that nothing is lost where one goes on from another."""

import threading

import psycopg
import pytest

from holdfast import GiveUp, Holdfast, Pipeline, Retry, RetryLater
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import InvalidValue
from holdfast.runtime.events.stream_event import StreamEvent
from holdfast.runtime.events.tail import Tail
from holdfast.runtime.events.tail_cursor import cursor_from_text
from holdfast.testing import Script, drain, run_inline

EMPTY = {"duration_ms": None, "gateway_http_status": None, "error_code": None}
"""What every event has in its meta, and of these nothing to say."""


def said(events: list[StreamEvent]) -> list[tuple[str, str | None]]:
    return [(event.name, event.data.get("stage")) for event in events]


def everything(tail: Tail, *, limit: int = 500) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    while page := tail.read(limit=limit):
        events += page
    return events


@pytest.fixture
def letters(open_app, script) -> Holdfast:
    pipeline = Pipeline("letters")
    pipeline.stage(name="draft")(lambda job: "drafted")
    pipeline.stage(name="send")(script.handler)
    return open_app(pipeline)


def test_a_job_is_told_from_its_submission_to_its_end(letters) -> None:
    tail = letters.tail()
    job = letters.submit("letters", owner="ada")
    run_inline(letters)

    events = tail.read()

    assert said(events) == [
        ("queued", "draft"),
        ("processing", "draft"),
        ("advanced", "draft"),
        ("processing", "send"),
        ("complete", "send"),
    ]
    assert {(event.job_id, event.owner) for event in events} == {(job.id, "ada")}
    assert [event.data["state"] for event in events][-1] == "complete"
    assert events[0].data.keys() == {
        *("job_id", "pipeline", "queue", "owner", "state", "stage", "attempt", "meta", "at")
    }
    assert tail.read() == []


def test_what_went_before_is_not_told(letters) -> None:
    letters.submit("letters")
    run_inline(letters)

    assert letters.tail().read() == []


def test_every_end_and_every_delay_has_its_name(open_app, clock) -> None:
    script = Script(TimeoutError(), RetryLater(after=1), GiveUp("NO_SUCH_THING"))
    pipeline = Pipeline("p", retry=Retry(attempts=2, base=10, jitter="none"))
    pipeline.stage(name="one")(script.handler)
    app = open_app(pipeline)
    tail = app.tail()
    app.submit("p")
    drain(app)
    clock.advance(1)
    cancelled = app.submit("p", delay=60)
    app.cancel(cancelled.id, by="ada", reason="not needed")

    events = [event for event in everything(tail) if event.name not in {"queued", "processing"}]

    assert [event.name for event in events] == ["retry", "snoozed", "failed", "cancelled"]
    assert events[0].data["meta"]["error_code"] == "NETWORK_TIMEOUT"
    assert events[2].data["meta"]["error_code"] == "NO_SUCH_THING"
    assert events[3].data["meta"] == EMPTY | {"attempt": 0, "by": "ada", "reason": "not needed"}


def test_an_attempt_is_told_when_it_begins_and_not_again_when_it_ends(app) -> None:
    tail = app.tail()
    app.submit("p")
    (job,) = app.store.claim(
        [Route("default", "p", "one")],
        limit=1,
        holder="worker-1",
        lease_us=60 * SECOND_US,
        now=app.clock.now(),
    )

    begun = tail.read()
    again = tail.read()
    app.cancel(job.id, by="ada")

    assert [event.name for event in begun] == ["queued", "processing"]
    assert begun[1].data["meta"] == EMPTY | {"attempt": 1, "worker": "worker-1"}
    assert again == []
    assert [event.name for event in tail.read()] == ["cancelled"]


def test_moves_of_breakers_and_queues_are_nobodys_in_particular(app) -> None:
    tail = app.tail()
    app.pause_queue("default", by="ada", reason="calm")

    (event,) = tail.read()

    assert (event.name, event.owner, event.job_id) == ("queue", None, None)
    assert (event.data["queue"], event.data["action"]) == ("default", "paused")


def test_one_tail_goes_on_where_another_ended(letters, open_app, script) -> None:
    tail = letters.tail()
    letters.submit("letters")
    first = tail.read()
    cursor = first[-1].cursor
    letters.close()

    again = open_app(*letters.pipelines.values())
    again.submit("letters", owner="ada")
    run_inline(again)
    events = again.tail(cursor).read()

    assert [event.name for event in first] == ["queued"]
    assert next(event.name for event in events if event.owner == "ada") == "queued"
    assert [event.name for event in events].count("complete") == 2


def test_who_goes_on_from_the_middle_of_a_page_hears_it_again_and_loses_nothing(letters) -> None:
    tail = letters.tail()
    letters.submit("letters")
    run_inline(letters)
    events = tail.read()

    again = letters.tail(events[1].cursor).read()

    assert said(again) == said(events)


@pytest.mark.parametrize("limit", [1, 3])
def test_what_is_too_much_for_a_page_comes_in_several(letters, limit) -> None:
    tail = letters.tail()
    ids = [letters.submit("letters").id for _ in range(7)]
    run_inline(letters)
    letters.pause_queue("slow", by="ada")

    events: list[StreamEvent] = []
    while page := letters.tail(tail.cursor if not events else events[-1].cursor).read(limit=limit):
        events += page

    for job_id in ids:
        assert said([event for event in events if event.job_id == job_id]) == [
            ("queued", events[0].data["stage"]),
            ("processing", "draft"),
            ("advanced", "draft"),
            ("processing", "send"),
            ("complete", "send"),
        ]
    assert [event.name for event in events if event.job_id is None] == ["queue"]


def test_what_is_committed_late_is_told_late_and_not_lost(postgres_url) -> None:
    with Holdfast(postgres_url, pipelines=[_noop()]) as app:
        app.submit("noop")  # stores the plan, for which the next ones need not wait then
        tail = app.tail()
        with psycopg.connect(postgres_url) as connection:
            early = app.submit("noop", connection=connection)
            other = app.submit("noop")
            with connection.transaction():
                nested = app.submit("noop", connection=connection)
            before = tail.read()
            app.submit("noop")
            between = tail.read()
            connection.commit()
        after = tail.read()

    assert [event.job_id for event in before] == [other.id]
    assert len(between) == 1
    assert [event.job_id for event in after] == [early.id, nested.id]


def test_no_event_is_lost_or_told_twice_while_many_write(open_app) -> None:
    app = open_app(_noop(), clock=None)
    tail = app.tail()
    done = threading.Event()
    submitted: list[str] = []

    def write() -> None:
        for _ in range(40):
            job = app.submit("noop")
            app.cancel(job.id, by="ada")
            submitted.append(job.id)

    def run() -> None:
        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()

    runner = threading.Thread(target=run)
    runner.start()
    events: list[StreamEvent] = []
    while not done.is_set():
        events += tail.read(limit=20)
    runner.join()
    events += everything(tail)

    for name in ("queued", "cancelled"):
        told = [event.job_id for event in events if event.name == name]
        assert sorted(told) == sorted(submitted)


def test_events_of_one_job_follow_from_each_other_whatever_the_clocks_say(app, clock) -> None:
    tail = app.tail()
    job = app.submit("p")
    clock.set(Instant(clock.now() - 2 * SECOND_US))
    app.cancel(job.id, by="ada")

    assert [event.name for event in tail.read()] == ["queued", "cancelled"]


def test_a_cursor_survives_as_a_text(app) -> None:
    cursor = cursor_from_text(app.tail().cursor)

    assert cursor_from_text(cursor.to_text()) == cursor


def test_a_cursor_that_was_not_made_here_is_refused(app) -> None:
    with pytest.raises(InvalidValue, match="the cursor of an event"):
        app.tail("bm8")


def _noop() -> Pipeline:
    pipeline = Pipeline("noop")
    pipeline.stage(name="one")(lambda job: None)
    return pipeline
