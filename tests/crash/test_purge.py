"""Purges that die half way, and purges beside workers: nothing is left of a job that went."""

import signal
import sys
import time

import pytest

from holdfast import Holdfast, JobState, Submit
from holdfast.core.values.retention import Retention
from tests.crash import dying_purge
from tests.crash.fleet import PATIENCE_S, REPOSITORY, Fleet, environment_of, eventually
from tests.crash.sampling import on_both_databases
from tests.crash.verdict import assert_no_stage_repeated, assert_steps_done
from tests.warm.process import run

KEYS = [f"order-{number}" for number in range(5)]
IN_THE_MIDDLE = (
    "remove_letters",
    "keep_keys",
    "remove_checkpoints",
    "remove_ledger",
    "remove_jobs",
)
NOTHING_KEPT = Retention(complete=0, cancelled=0, failed=0)


def _purge(fleet: Fleet, dies_at: str) -> tuple[int, list[str]]:
    """Run a purge in a process of its own; return its status and the statements it ran."""
    done = run(
        [sys.executable, dying_purge.__file__, fleet.url, dies_at],
        cwd=REPOSITORY,
        env=environment_of(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, done.stdout.split()


def _left(fleet: Fleet, job: str) -> set[str]:
    store = fleet.app.store
    found = {
        "job": store.get([job]),
        "checkpoints": store.checkpoints([job]),
        "ledger": store.ledger(job),
    }
    return {name for name, rows in found.items() if rows}


def _ended(fleet: Fleet) -> tuple[list[str], str]:
    """Jobs of known keys that completed, and one that failed and whose letter is resolved."""
    jobs = [fleet.app.submit("steps", {"n": 1}, key=key).id for key in KEYS]
    dead = fleet.app.submit("poison", {"kind": "returns NaN"}, key="dead").id
    worker = fleet.start(only="steps,poison")
    fleet.finished(jobs)
    fleet.finished([dead], state=JobState.FAILED)
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    fleet.app.dead.resolve(dead, note="seen", by="ada", unreplayed=True)
    return jobs, dead


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_purge_killed_at_any_statement_leaves_each_job_whole_or_gone(fleet: Fleet) -> None:
    jobs, dead = _ended(fleet)
    ran: list[str] = []
    number, status = 0, -signal.SIGKILL
    while status:
        number += 1
        status, statements = _purge(fleet, f"any:{number}")
        ran += statements
        for key, job in zip(KEYS, jobs, strict=True):
            assert _left(fleet, job) in ({"job", "checkpoints", "ledger"}, set())
            (known,) = fleet.app.of_key("steps", key)
            assert (known.id, known.removed_at is None) == (job, bool(_left(fleet, job)))
        assert _left(fleet, dead) in ({"job", "ledger"}, set())
        assert (fleet.app.store.letters.get(dead) is None) == (not _left(fleet, dead))
        fleet.sound()
    assert set(IN_THE_MIDDLE) <= set(ran)
    assert not any(_left(fleet, job) for job in [*jobs, dead])

    _assert_keys_are_kept(fleet, jobs)


@pytest.mark.parametrize("statement", ["remove_checkpoints", "remove_ledger", "remove_jobs"])
def test_a_key_submitted_again_after_a_purge_that_was_killed_names_its_job(
    fleet: Fleet, statement: str
) -> None:
    jobs, _ = _ended(fleet)
    # The first goes with the failed job, the second is in the batch of the others.
    status, statements = _purge(fleet, f"{statement}:2")
    assert (status, statements[-1] in IN_THE_MIDDLE) == (-signal.SIGKILL, True)
    # The transaction it died in took nothing with it: the keys still lead to their jobs.
    for key, job in zip(KEYS, jobs, strict=True):
        assert _left(fleet, job) == {"job", "checkpoints", "ledger"}
        assert fleet.app.submit("steps", {"n": 1}, key=key).id == job
    fleet.sound()

    assert _purge(fleet, "any:1000000")[0] == 0
    _assert_keys_are_kept(fleet, jobs)


def _assert_keys_are_kept(fleet: Fleet, jobs: list[str]) -> None:
    """The same keys name the jobs that are gone; a rerun runs all stages, without a checkpoint."""
    for key, job in zip(KEYS, jobs, strict=True):
        handle = fleet.app.submit("steps", {"n": 1}, key=key)
        assert (handle.id, handle.created, handle.get().state) == (job, False, JobState.COMPLETE)
    before = len(fleet.executions())
    reruns = []
    for number, key in enumerate(KEYS, start=1):
        handle = fleet.app.submit("steps", {"n": number}, key=key, version=2, rerun=True)
        assert handle.created
        assert fleet.app.results(handle.id) == {}
        reruns.append(handle.id)
    fleet.start(only="steps")
    fleet.finished(reruns)
    assert_steps_done(fleet, reruns)
    assert len(fleet.executions()) - before == 3 * len(reruns)
    fleet.sound()


def test_jobs_go_while_workers_run_and_none_is_lost_or_run_twice(fleet: Fleet) -> None:
    workers = [fleet.start(only="steps,noop", concurrency=8) for _ in range(2)]
    with Holdfast(fleet.url, retention=NOTHING_KEPT, auto_migrate=False) as cleaner:
        jobs: list[str] = []
        gone = 0
        until = time.monotonic() + 3
        while time.monotonic() < until:
            made = fleet.app.submit_many("noop", [Submit(payload={"n": n}) for n in range(20)])
            jobs += [str(item.job_id) for item in made]
            gone += cleaner.purge().get("jobs", 0)

        def all_gone() -> bool:
            nonlocal gone
            gone += cleaner.purge().get("jobs", 0)
            return gone == len(jobs)

        eventually(all_gone, what="all jobs have completed and gone")

    ran = [execution.job for execution in fleet.executions()]
    assert sorted(ran) == sorted(jobs)
    assert all(worker.is_alive for worker in workers)
    assert not any(worker.events("dropped") for worker in workers)
    fleet.sound()


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(["purge.before", "purge.after"], quick_on_sqlite=["purge.after"]),
    indirect=["database_url"],
)
def test_a_worker_killed_around_a_purge_is_followed_by_one_that_goes_on(
    fleet: Fleet, point: str
) -> None:
    jobs, dead = _ended(fleet)
    options = {"only": "steps,noop", "keep": 0.0}
    # The second batch is that of the jobs, after the one of the letters.
    assert fleet.start(failpoints=f"{point}=kill:2", **options).ended() == -signal.SIGKILL
    assert not _left(fleet, dead)
    fleet.sound()

    fleet.start(**options)
    eventually(lambda: not any(_left(fleet, job) for job in jobs), what="the rest is gone")
    fleet.sound()
    assert_no_stage_repeated(fleet)
