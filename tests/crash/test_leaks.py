"""Over many jobs, half of which fail, a worker grows neither in memory nor in anything else."""

import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from holdfast import JobState, Submit
from tests.crash.fleet import Fleet, WorkerProcess, eventually

BATCH = 1_000
WARM_UP = 10
BATCHES = 100
MAX_KIB_PER_JOB = 0.3
"""Far below what one forgotten job, attempt or log record would take."""


class Size(NamedTuple):
    """What a process has at one moment."""

    resident_kib: int
    files: int
    threads: int


def _size(worker: WorkerProcess) -> Size:
    process = Path(f"/proc/{worker.pid}")
    status = dict(
        line.split(":\t", 1) for line in (process / "status").read_text("utf-8").splitlines()
    )
    return Size(
        resident_kib=int(status["VmRSS"].split()[0]),
        files=len(os.listdir(process / "fd")),  # noqa: PTH208 - their number is all
        threads=int(status["Threads"]),
    )


def _sizes(fleet: Fleet, worker: WorkerProcess) -> Iterator[Size]:
    """The worker's size after each of many batches of jobs, of which every other fails."""
    for number in range(BATCHES):
        made = fleet.app.submit_many("half", [Submit(payload={"n": n}) for n in range(BATCH)])
        jobs = [str(item.job_id) for item in made]
        states = [job.state for job in fleet.ended(jobs, within_s=60)]
        assert states == [JobState.COMPLETE, JobState.FAILED] * (BATCH // 2)
        if number % 4 == 3 and fleet.url.startswith("postgres"):
            _cut_all_connections(fleet.url)
        yield _size(worker)


def _cut_all_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name like 'holdfast%'"
            " and pid <> pg_backend_pid()"
        )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_stays_as_large_as_it_is_over_many_jobs_half_of_which_fail(fleet: Fleet) -> None:
    worker = fleet.start(only="half", concurrency=20, lease=30.0)
    sizes = list(_sizes(fleet, worker))[WARM_UP:]

    jobs = [BATCH * number for number in range(len(sizes))]
    slope, _ = statistics.linear_regression(jobs, [size.resident_kib for size in sizes])
    assert slope < MAX_KIB_PER_JOB, sizes
    assert max(size.threads for size in sizes) <= min(size.threads for size in sizes) + 1, sizes
    # Connections that were cut are opened again one by one.
    files = [size.files for size in sizes]
    eventually(lambda: _size(worker).files <= min(files) + 4, what="no files are left open")
    assert max(files) <= min(files) + 8, sizes
    assert worker.is_alive
