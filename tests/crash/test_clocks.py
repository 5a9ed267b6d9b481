"""Workers on machines whose wall clock is wrong, jumps, or belongs to an odd zone."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from holdfast import JobState
from holdfast.core.values.instant import SECOND_US
from tests.crash.fleet import REPOSITORY, Fleet, WorkerProcess, eventually
from tests.crash.sampling import slow
from tests.crash.verdict import (
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)

WRONG_CLOCK = """
import os
import time

_time, _time_ns = time.time, time.time_ns


def _off_by_s():
    try:
        with open(os.environ["CRASH_CLOCK"]) as file:
            return float(file.read() or 0)
    except FileNotFoundError:
        return 0.0


time.time = lambda: _time() + _off_by_s()
time.time_ns = lambda: _time_ns() + int(_off_by_s() * 1_000_000_000)
"""
HOUR_S = 3600.0
LEASE_S = 20.0
"""More than a busy machine keeps a worker waiting, and nothing to a clock that is minutes off."""
WRONG_US = int(HOUR_S / 2) * SECOND_US
"""What a wrong clock would be off by at least; a busy machine is not that late."""


class Machine:
    """A machine with a wall clock of its own: what a worker sees is off by what is set here."""

    def __init__(self, folder: Path, name: str) -> None:
        self._offset = folder / f"{name}.offset"
        site = folder / f"{name}.site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(WRONG_CLOCK, encoding="utf-8")
        path = [str(site), str(REPOSITORY / "src"), str(REPOSITORY)]
        self.environment = {"CRASH_CLOCK": str(self._offset), "PYTHONPATH": ":".join(path)}

    def set(self, off_by_s: float) -> None:
        draft = self._offset.with_suffix(".new")
        draft.write_text(str(off_by_s), encoding="ascii")
        draft.replace(self._offset)


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    return Machine(tmp_path, "first"), Machine(tmp_path, "second")


def test_the_machines_of_these_tests_really_have_wrong_clocks(
    sqlite_fleet: Fleet, machines: tuple[Machine, Machine]
) -> None:
    """On SQLite the machine's clock is the store's, so there the offset must show."""
    machines[0].set(HOUR_S)
    sqlite_fleet.start(environment=machines[0].environment, cold=True, only="noop")
    [job] = sqlite_fleet.submit("noop")
    sqlite_fleet.finished([job])
    found = sqlite_fleet.app.job(job).job
    assert found.finished_at - found.created_at > 0.9 * HOUR_S * SECOND_US


@pytest.mark.slow
def test_workers_an_hour_off_in_both_directions_judge_time_alike(
    postgres_fleet: Fleet, machines: tuple[Machine, Machine]
) -> None:
    fleet = postgres_fleet
    workers: list[WorkerProcess] = []
    for machine, off_by_s in zip(machines, (HOUR_S, -HOUR_S), strict=True):
        machine.set(off_by_s)
        workers.append(fleet.start(environment=machine.environment, cold=True, lease=LEASE_S))
    for worker in workers:
        worker.said("started")
    asked_at = time.monotonic()
    delayed = [fleet.app.submit("noop", {}, delay=1.5).id for _ in range(6)]
    # Longer than sweepers take to look: one with a wrong clock would take them away.
    slow = fleet.submit("steps", 4, pause=1.0)
    in_time = [fleet.app.submit("steps", {"n": 1}, deadline=HOUR_S / 2).id for _ in range(4)]
    nobody = fleet.app.submit("noop", {}, queue="nobody", deadline=1.0).id
    fleet.finished([*delayed, *slow, *in_time])
    fleet.finished([nobody], state=JobState.FAILED)

    assert_no_attempt_spent(fleet, [*delayed, *slow, *in_time])
    assert_no_stage_repeated(fleet)
    for job in delayed:
        [run] = fleet.executions(job)
        assert run.at - asked_at >= 1.45, "nothing runs before it is due"
        found = fleet.app.job(job).job
        assert 0 <= found.started_at - found.run_at < WRONG_US
    expired = fleet.app.job(nobody).job
    assert 0 < expired.finished_at - expired.deadline_at < WRONG_US

    def both_have_run() -> bool:
        fleet.finished(fleet.submit("noop"))
        return {run.pid for run in fleet.executions()} == {worker.pid for worker in workers}

    eventually(both_have_run, what="each of the workers has run jobs")
    fleet.sound()


@pytest.mark.parametrize("step_s", [600.0, slow(-600.0)])
def test_a_wall_clock_that_is_set_while_jobs_run_changes_nothing_on_postgres(
    postgres_fleet: Fleet, machines: tuple[Machine, Machine], step_s: float
) -> None:
    fleet = postgres_fleet
    machine = machines[0]
    machine.set(0)
    fleet.start(environment=machine.environment, cold=True, lease=LEASE_S)
    jobs = [
        fleet.app.submit("steps", {"n": number, "pause": 1.2}, deadline=abs(step_s) / 2).id
        for number in range(1, 4)
    ]
    eventually(lambda: fleet.executions(stage="two"), what="jobs are half way")
    machine.set(step_s)

    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_attempt_spent(fleet, jobs)
    assert_no_stage_repeated(fleet)
    took_us = [job.finished_at - job.created_at for job in fleet.ended(jobs)]
    assert all(3.6 * SECOND_US <= took < abs(step_s) / 2 * SECOND_US for took in took_us)
    fleet.sound()


@pytest.mark.parametrize("step_s", [slow(600.0), -600.0])
def test_a_wall_clock_that_is_set_while_jobs_run_costs_no_attempt_on_sqlite(
    sqlite_fleet: Fleet, machines: tuple[Machine, Machine], step_s: float
) -> None:
    """There it is the store's clock, so what is running must be renewed by it, not swept."""
    fleet = sqlite_fleet
    machine = machines[0]
    machine.set(0)
    for _ in range(2):
        fleet.start(environment=machine.environment, cold=True, lease=1.5, only="steps").said(
            "started"
        )
    jobs = fleet.submit("steps", 4, pause=1.0)
    eventually(lambda: len(fleet.executions(stage="one")) == 4, what="all jobs run")
    machine.set(step_s)

    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_attempt_spent(fleet, jobs)
    assert_no_stage_repeated(fleet)


LORD_HOWE, CHATHAM = "Australia/Lord_Howe", "Pacific/Chatham"


def test_instants_mean_the_same_in_odd_zones_and_through_their_changes(fleet: Fleet) -> None:
    """Lord Howe's clocks go back by half an hour, so each moment of it is there twice."""
    fleet.start(environment={"TZ": CHATHAM}, only="noop")
    now = datetime.now(UTC)
    due = now + timedelta(seconds=1)
    jobs = [
        fleet.app.submit("noop", {}, run_at=due.astimezone(zone)).id
        for zone in (UTC, ZoneInfo(LORD_HOWE), ZoneInfo(CHATHAM))
    ]
    twice = [datetime(2026, 4, 5, 1, 45, fold=fold, tzinfo=ZoneInfo(LORD_HOWE)) for fold in (0, 1)]
    first, second = (
        fleet.app.job(fleet.app.submit("noop", {}, run_at=moment, queue="nobody").id).run_at
        for moment in twice
    )
    assert second - first == timedelta(minutes=30)
    fleet.finished(jobs)
    assert {fleet.app.job(job).run_at for job in jobs} == {due}
    assert all(fleet.app.job(job).job.started_at >= fleet.app.job(job).job.run_at for job in jobs)
