"""Workers on a SQLite file that many share, that cannot grow, or that is damaged."""

import resource
from pathlib import Path

import pytest

from tests.crash.fleet import Fleet, eventually
from tests.crash.verdict import (
    assert_ledgers_agree,
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)


def _processes_share(fleet: Fleet, *, workers: int, jobs: int, within_s: float) -> None:
    started = [fleet.start(lease=10.0, only="steps,noop", concurrency=4) for _ in range(workers)]
    submitted = fleet.submit("steps", jobs, pause=0.005)
    fleet.finished(submitted, within_s=within_s)

    assert_steps_done(fleet, submitted)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, submitted)
    assert_ledgers_agree(fleet, submitted)
    assert all(worker.is_alive for worker in started)
    fleet.sound()


def test_processes_that_write_one_file_at_once_neither_fail_nor_repeat(
    sqlite_fleet: Fleet,
) -> None:
    _processes_share(sqlite_fleet, workers=3, jobs=60, within_s=30)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_many_processes_that_write_one_file_for_long_neither_fail_nor_repeat(
    sqlite_fleet: Fleet,
) -> None:
    _processes_share(sqlite_fleet, workers=8, jobs=800, within_s=150)


def test_a_worker_whose_disk_is_full_waits_and_goes_on_when_there_is_room(
    sqlite_fleet: Fleet,
) -> None:
    fleet = sqlite_fleet
    worker = fleet.start(lease=30.0, only="steps,noop")
    # Large payloads make the log longer than anything else that the worker writes.
    fleet.finished(fleet.submit("noop", 20, text="x" * 60_000))
    log = Path(f"{fleet.url.removeprefix('sqlite:///')}-wal")
    longest = max(path.stat().st_size for path in fleet.folder.glob("worker-*.log"))
    room = 200_000
    assert log.stat().st_size > room > longest + 100_000
    jobs = fleet.submit("steps", 10, pause=0.2)
    eventually(lambda: fleet.executions(stage="one"), what="the worker is at work")
    unlimited = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (room, unlimited[1]))
    eventually(
        lambda: any("reporter failed" in line["text"] for line in worker.log()),
        what="the worker has met the full disk",
    )
    complaint = next(line["text"] for line in worker.log() if "reporter failed" in line["text"])
    assert "SQLITE_" in complaint
    ran = len(fleet.executions())
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, unlimited)

    fleet.finished(jobs)
    assert ran <= 3 * len(jobs)
    assert worker.is_alive
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    fleet.sound()


def test_a_worker_refuses_to_start_on_a_file_that_is_no_database(sqlite_fleet: Fleet) -> None:
    path = sqlite_fleet.folder / "other.db"
    path.write_bytes(b"this is not a database, however long one looks at it " * 100)
    worker = sqlite_fleet.start(url=f"sqlite:///{path}")
    assert worker.ended() == 1
    assert "StoreCorrupt" in worker.story()
    assert str(path) in worker.story()


def test_a_worker_that_meets_damage_ends_instead_of_working_on(sqlite_fleet: Fleet) -> None:
    fleet = sqlite_fleet
    fleet.finished([])
    jobs = fleet.submit("noop", 400, text="x" * 2_000)
    fleet.app.close()
    path = Path(fleet.url.removeprefix("sqlite:///"))
    size = path.stat().st_size
    # Some pages in the middle: the schema at the head stays readable, so the worker starts.
    with path.open("r+b") as file:
        file.seek(size // 4 // 4096 * 4096)
        file.write(b"\xa5" * (size // 2))
    worker = fleet.start(only="noop")
    assert worker.ended() == 1
    assert "malformed" in worker.story()
    assert len({run.job for run in fleet.executions()}) < len(jobs)
