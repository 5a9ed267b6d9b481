"""Workers of another version, which lack a handler or know other stages."""

import signal

import pytest

from holdfast import JobState
from tests.crash.fleet import Fleet, eventually
from tests.crash.sampling import on_both_databases
from tests.crash.verdict import assert_no_attempt_spent, assert_no_stage_repeated, assert_steps_done


def test_a_job_nobody_knows_stays_as_it_is_until_somebody_does(fleet: Fleet) -> None:
    jobs = fleet.submit("steps", 2)
    before = fleet.app.store.get(jobs)
    stranger = fleet.start(only="noop")
    for _ in range(3):
        fleet.finished(fleet.submit("noop", 3))
    assert fleet.app.store.get(jobs) == before
    assert [fleet.app.store.ledger(job) for job in jobs] == [[], []]
    assert stranger.is_alive

    fleet.start(only="steps")
    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)


def _left_at_stage_two(fleet: Fleet) -> list[str]:
    jobs = fleet.submit("steps", 2, pause=0.3)
    old = fleet.start(only="steps")
    eventually(lambda: len(fleet.executions(stage="one")) == 2, what="the first stage runs")
    old.signal(signal.SIGTERM)
    assert old.ended() == 0
    assert {job.stage for job in fleet.app.store.get(jobs).values()} == {"two"}
    return jobs


@pytest.mark.parametrize(
    ("database_url", "version"),
    on_both_databases(["a stage was added", "the stages were reordered"]),
    indirect=["database_url"],
)
def test_a_job_goes_on_by_the_stages_it_was_made_with(fleet: Fleet, version: str) -> None:
    jobs = _left_at_stage_two(fleet)
    knows_three = version == "a stage was added"
    newer = fleet.start(version=version, only="steps")
    if not knows_three:
        eventually(
            lambda: {job.stage for job in fleet.app.store.get(jobs).values()} == {"three"},
            what="the stage that both versions know is done",
        )
        fleet.start(only="steps")

    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    assert fleet.executions(stage="check") == []
    assert newer.is_alive
    fleet.sound()


@pytest.mark.parametrize(
    ("database_url", "version"),
    on_both_databases(
        ["a stage was removed", "a stage was renamed"], quick_on_sqlite={"a stage was removed"}
    ),
    indirect=["database_url"],
)
def test_a_job_at_a_stage_that_is_gone_waits_for_a_worker_that_has_it(
    fleet: Fleet, version: str
) -> None:
    jobs = _left_at_stage_two(fleet)
    before = fleet.app.store.get(jobs)
    newer = fleet.start(version=version, only="steps,noop")
    for _ in range(3):
        fleet.finished(fleet.submit("noop", 3))
    assert fleet.app.store.get(jobs) == before, "no stage is skipped and nothing is given up"

    fleet.start(only="steps")
    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert newer.is_alive
    assert set(fleet.states(jobs).values()) == {JobState.COMPLETE}
    fleet.sound()
