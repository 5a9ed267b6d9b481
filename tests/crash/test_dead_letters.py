"""A job and its dead letter agree, whenever a worker dies and however many people replay."""

import signal
import subprocess
import sys

import pytest

from holdfast import JobState
from holdfast.core.dead_letter.dead_letter import LetterState, Standing
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH
from holdfast.errors import UnknownLetter
from holdfast.store.tables.dead_letters import LetterFilter
from tests.crash import program, replaying
from tests.crash.fleet import REPOSITORY, Fleet, environment_of
from tests.crash.sampling import on_both_databases
from tests.warm.process import WarmProcess

FAILS = "raises a group"
PIPELINES = ("poison", "poison-on-loop", "poison-in-child")


def assert_letters_agree(fleet: Fleet, jobs: list[str]) -> None:
    """Every failed job has its letter, and no other job has one that waits."""
    for job in jobs:
        try:
            state = fleet.app.dead.get(job).letter.state
        except UnknownLetter:
            state = None
        failed = fleet.app.job(job).state is JobState.FAILED
        assert failed == (state is LetterState.OPEN), f"{job}: {state}"
    fleet.sound()


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(
        ["apply.before", "apply.after", "announce.before"],
        quick={"apply.before", "apply.after"},
        quick_on_sqlite={"apply.before", "apply.after"},
    ),
    indirect=["database_url"],
)
def test_a_worker_killed_around_the_end_of_a_job_leaves_both_or_neither(
    fleet: Fleet, point: str
) -> None:
    jobs = fleet.submit("poison", 3, kind=FAILS)
    killed = fleet.start(failpoints=f"{point}=kill", only="poison")
    assert killed.ended() == -signal.SIGKILL

    assert_letters_agree(fleet, jobs)
    fleet.start(only="poison")
    fleet.finished(jobs, state=JobState.FAILED)
    assert_letters_agree(fleet, jobs)
    letters = fleet.app.store.letters.find(LetterFilter(), before=None, limit=10)
    assert sorted(letter.id for letter in letters) == sorted(jobs)
    assert {letter.deaths for letter in letters} == {1}


@pytest.mark.slow
def test_workers_killed_in_the_middle_of_writes_leave_both_or_neither(fleet: Fleet) -> None:
    jobs = fleet.submit("poison", 300, kind=FAILS)
    for _ in range(8):
        worker = fleet.start(only="poison", concurrency=50)
        worker.said("started")
        worker.signal(signal.SIGKILL)
        worker.ended()
        assert_letters_agree(fleet, jobs)
    fleet.start(only="poison")
    fleet.finished(jobs, state=JobState.FAILED, within_s=40)
    assert_letters_agree(fleet, jobs)


def test_letters_are_complete_whatever_was_raised_wherever(fleet: Fleet) -> None:
    raised = [kind for kind in program.POISON if kind.startswith("raises")]
    jobs = {
        fleet.app.submit(pipeline, {"kind": kind}).id: (pipeline, kind)
        for pipeline in PIPELINES
        for kind in raised
    }
    fleet.start()
    fleet.finished(list(jobs), state=JobState.FAILED, within_s=40)

    for job, case in jobs.items():
        letter = fleet.app.dead.get(job).letter
        assert letter.error_class == "BUG", case
        assert 0 < len(letter.message) <= MAX_MESSAGE_LENGTH, case
        assert letter.exception_type, case
        assert 0 < len(letter.stack) <= MAX_STACK_LENGTH, case
        assert "program.py" in letter.stack, case
    fleet.sound()


def test_processes_that_replay_the_same_letter_at_once_give_one_run(fleet: Fleet) -> None:
    [job] = fleet.submit("poison", kind=FAILS)
    fleet.start(only="poison")
    fleet.finished([job], state=JobState.FAILED)
    fleet.app.store.pause_queue("default", by="test", now=fleet.app.clock.now())
    fleet.app.dead.triage(job, cause="data", by="test")
    fleet.app.dead.remediate(job, evidence="INC-7", by="test")
    processes = [
        WarmProcess(
            [sys.executable, replaying.__file__, fleet.url, job, f"process {number}"],
            cwd=REPOSITORY,
            env=environment_of(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=30)[0].strip() for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert answers.count("sent back") == 1, answers
    assert fleet.app.dead.get(job).standing is Standing.REPLAYING

    fleet.app.store.resume_queue("default")
    fleet.finished([job], state=JobState.FAILED)
    assert len(fleet.executions(job)) == 2
    view = fleet.app.dead.get(job)
    assert (view.letter.deaths, view.standing) == (2, Standing.ESCALATED)
    fleet.sound()
