"""PostgreSQL that restarts, refuses writes, or is gone for a while, under running workers."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from holdfast import Submit
from holdfast.errors import UnavailableError
from holdfast.testing.postgres.server import PrivatePostgres, StopMode
from tests.crash.fleet import Fleet, eventually
from tests.crash.sampling import slow
from tests.crash.verdict import (
    assert_ledgers_agree,
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)


@pytest.fixture
def private_fleet(postgres_server: PrivatePostgres, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(postgres_server.url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


def _submit(fleet: Fleet, count: int, *, pause: float) -> list[str]:
    made = fleet.app.submit_many(
        "steps", [Submit(payload={"n": n, "pause": pause}) for n in range(1, count + 1)]
    )
    return [item.job_id for item in made]


@pytest.mark.parametrize("mode", [slow("fast"), "immediate"])
def test_workers_outlive_restarts_of_the_server_and_lose_nothing(
    private_fleet: Fleet, postgres_server: PrivatePostgres, mode: StopMode
) -> None:
    fleet = private_fleet
    workers = [fleet.start(lease=10.0, only="steps", concurrency=8) for _ in range(2)]
    jobs = _submit(fleet, 200, pause=0.05)
    for restart in range(1, 4):
        enough = restart * len(jobs) // 4
        eventually(
            lambda enough=enough: len(fleet.executions(stage="three")) >= enough,
            what="the workers are at work",
        )
        postgres_server.restart(mode)

    fleet.finished(jobs, within_s=40)
    assert all(worker.is_alive for worker in workers)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    assert_ledgers_agree(fleet, jobs)
    fleet.sound()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_workers_outlive_a_server_that_restarts_every_few_seconds(
    private_fleet: Fleet, postgres_server: PrivatePostgres
) -> None:
    fleet = private_fleet
    workers = [fleet.start(lease=5.0, only="steps", concurrency=8) for _ in range(2)]
    jobs = _submit(fleet, 600, pause=0.2)
    done = threading.Event()

    def restart_often() -> None:
        modes: tuple[StopMode, ...] = ("fast", "immediate")
        turn = 0
        while not done.wait(3.0):
            postgres_server.stop(modes[turn % 2])
            done.wait(turn % 3)  # down for 0, 1 and 2 seconds in turn
            postgres_server.start()
            turn += 1

    restarter = threading.Thread(target=restart_often)
    restarter.start()
    try:
        _finished_despite_outages(fleet, jobs, within_s=180)
    finally:
        done.set()
        restarter.join()
    assert all(worker.is_alive for worker in workers)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet, extra=2)
    assert_ledgers_agree(fleet, jobs)
    fleet.sound()


def _finished_despite_outages(fleet: Fleet, jobs: list[str], *, within_s: float) -> None:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            fleet.finished(jobs, within_s=max(until - time.monotonic(), 0.1))
        except UnavailableError:
            continue
        return
    raise AssertionError(f"not finished within {within_s} s")


def test_a_server_that_refuses_writes_is_an_outage_and_no_failure_of_jobs(
    private_fleet: Fleet, postgres_server: PrivatePostgres
) -> None:
    fleet = private_fleet
    worker = fleet.start(lease=20.0, only="steps")
    jobs = _submit(fleet, 20, pause=0.2)
    eventually(lambda: fleet.executions(stage="two"), what="the worker is at work")
    postgres_server.set(default_transaction_read_only="on")
    with pytest.raises(UnavailableError, match="read-only"):
        fleet.app.submit("noop", {})
    eventually(
        lambda: any("reporter failed" in line["text"] for line in worker.log()),
        what="the worker has met the read-only server",
    )
    ran = len(fleet.executions())
    eventually(_passed(2.0), what="the outage lasted")
    assert len(fleet.executions()) <= ran + 10, "handlers that ran may have gone on, no more"
    postgres_server.set(default_transaction_read_only=None)

    fleet.finished(jobs)
    assert worker.is_alive
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    fleet.sound()


def _passed(seconds: float):
    until = time.monotonic() + seconds
    return lambda: time.monotonic() > until


def test_a_worker_waits_for_a_server_that_is_down_and_tells_why(
    private_fleet: Fleet, postgres_server: PrivatePostgres
) -> None:
    fleet = private_fleet
    worker = fleet.start(lease=20.0, only="steps,noop")
    fleet.finished(fleet.submit("noop"))
    postgres_server.stop("immediate")
    eventually(
        lambda: any("claimer failed" in line["text"] for line in worker.log()),
        what="the worker complains",
    )
    with pytest.raises(UnavailableError) as caught:
        fleet.app.submit("noop", {})
    assert str(urlsplit(fleet.url).password) not in str(caught.value)
    eventually(_passed(1.5), what="the outage lasted")
    complaints = [line for line in worker.log() if "failed" in line["text"]]
    assert len(complaints) < 20, "an outage is told once for each service, not at every try"
    postgres_server.start()

    fleet.finished(fleet.submit("steps", 3))
    assert worker.is_alive
    fleet.sound()
