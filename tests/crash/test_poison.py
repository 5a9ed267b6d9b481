"""Handlers and rows that are as bad as they can be, and the worker that lives through them."""

import signal

import psycopg

from holdfast import JobState
from tests.crash import program
from tests.crash.fleet import Fleet, eventually
from tests.crash.verdict import assert_steps_done

PIPELINES = ("poison", "poison-on-loop", "poison-in-child")


def test_a_worker_outlives_every_poison_and_finishes_the_others(fleet: Fleet) -> None:
    worker = fleet.start()
    poisoned = {
        (pipeline, kind): fleet.app.submit(pipeline, {"kind": kind}).id
        for pipeline in PIPELINES
        for kind in program.POISON
    }
    others = fleet.submit("steps", 5)

    fleet.finished(list(poisoned.values()), state=JobState.FAILED, within_s=40)
    fleet.finished(others)
    assert_steps_done(fleet, others)
    for (pipeline, kind), job in poisoned.items():
        error = fleet.app.job(job).error
        assert error is not None
        if kind.startswith("returns"):
            assert error["error_class"] == "RESULT_INVALID", (pipeline, kind)
        assert len(error["message"]) < 10_000, (pipeline, kind)
        assert len(fleet.executions(job)) <= program.ATTEMPTS, (pipeline, kind)
    assert worker.is_alive
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    fleet.sound()


def test_a_handler_that_stops_itself_is_called_again_and_spends_an_attempt(fleet: Fleet) -> None:
    worker = fleet.start()
    jobs = [
        fleet.app.submit(pipeline, {"kind": kind}).id
        for pipeline in PIPELINES
        for kind in program.STOPS_ITSELF
    ]

    fleet.finished(jobs)
    for job in jobs:
        assert fleet.app.job(job).result == "behaved"
        assert [run.attempt for run in fleet.executions(job)] == [1, 2]
        assert [line.error_class for line in fleet.app.attempts(job)] == ["HANDLER_STOPPED", None]
    assert worker.is_alive
    fleet.sound()


def test_a_handler_that_puts_itself_off_is_called_again_and_spends_no_attempt(fleet: Fleet) -> None:
    fleet.start()
    jobs = [fleet.app.submit(pipeline, {"kind": program.PUTS_OFF}).id for pipeline in PIPELINES]

    fleet.finished(jobs)
    for job in jobs:
        assert fleet.app.job(job).result == "behaved"
        assert [run.attempt for run in fleet.executions(job)] == [1, 1]
    fleet.sound()


def _spoil(fleet: Fleet, statement: str, job: str) -> None:
    """Change a row behind the engine's back; `$` stands for the table's prefix."""
    if fleet.url.startswith("sqlite"):
        with fleet.app.store.transaction() as connection:
            connection.execute(statement.replace("$", "holdfast_").replace("%s", "?"), [job])
        return
    with psycopg.connect(fleet.url, autocommit=True) as connection:
        connection.execute(statement.replace("$", "holdfast."), [job])


GARBAGE = ("{", "", "nul", "[1,", '{"n": 1e400}', "\u00ff")


def test_a_payload_that_is_no_payload_fails_its_job_and_no_other(fleet: Fleet) -> None:
    fleet.app.pause_queue("default", by="test")
    bad = fleet.submit("steps", len(GARBAGE))
    others = fleet.submit("steps", 3)
    for job, garbage in zip(bad, GARBAGE, strict=True):
        _spoil(fleet, f"update $job set payload = '{garbage}' where id = %s", job)
    fleet.app.resume_queue("default")
    worker = fleet.start(only="steps")

    fleet.finished(bad, state=JobState.FAILED)
    fleet.finished(others)
    assert_steps_done(fleet, others)
    assert all(fleet.app.job(job).error for job in bad)
    assert worker.is_alive


def test_rows_that_cannot_be_reclaimed_hold_up_no_other(fleet: Fleet) -> None:
    """The first has no plan, the second's next ledger entry is there already."""
    jobs = fleet.submit("noop", 4)
    fleet.start(failpoints="run.before=kill", lease=0.5).ended()
    assert set(fleet.states(jobs).values()) == {JobState.PROCESSING}
    no_plan, no_room, *sound = jobs
    _spoil(fleet, "update $job set plan = 'gone', lease_until = 1 where id = %s", no_plan)
    _spoil(fleet, "update $job set lease_until = 2 where id = %s", no_room)
    _spoil(
        fleet,
        "insert into $ledger (job_id, revision, kind, at, state, stage, attempt)"
        " select id, revision + 1, 'retried', 1, 'queued', stage, attempt from $job where id = %s",
        no_room,
    )
    worker = fleet.start(lease=0.5)

    fleet.finished(sound)
    assert worker.is_alive
    assert fleet.states([no_plan]) == {no_plan: JobState.PROCESSING}
    eventually(
        lambda: any(line.get("job_id") == no_plan for line in worker.log()),
        what="the worker points out the row it cannot reclaim",
    )


def test_a_store_carried_across_a_fork_by_a_handler_refuses_to_be_used(fleet: Fleet) -> None:
    worker = fleet.start()
    [job] = fleet.submit("forking")
    fleet.finished([job])
    assert fleet.app.job(job).result.startswith("ForkedProcess: ")
    fleet.finished(fleet.submit("noop"))
    assert worker.is_alive
