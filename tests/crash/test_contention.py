"""Connections, rows and locks that others hold on to."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from holdfast.store.postgres.store import CONNECTIONS
from tests.crash.fleet import Fleet, eventually
from tests.crash.verdict import (
    assert_ledgers_agree,
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)

LEASE_S = 1.5


def test_handlers_that_hold_every_connection_stop_neither_renewals_nor_results(
    postgres_fleet: Fleet, tmp_path: Path
) -> None:
    fleet = postgres_fleet
    let_go = tmp_path / "let go"
    worker = fleet.start(lease=LEASE_S, concurrency=2 * CONNECTIONS)
    hogs = fleet.submit("hog", CONNECTIONS, until=str(let_go))
    eventually(lambda: len(fleet.executions()) == CONNECTIONS, what="all connections are taken")

    others = fleet.submit("steps", 5, pause=0.02)
    fleet.finished(others, within_s=10)
    held_from = time.monotonic()
    eventually(lambda: time.monotonic() - held_from > 2 * LEASE_S, what="leases had to be renewed")
    let_go.touch()
    fleet.finished(hogs)
    assert_no_attempt_spent(fleet, [*hogs, *others])
    assert len(fleet.executions()) == CONNECTIONS + 3 * 5
    assert not worker.events("lease_lost")
    fleet.sound()


@contextmanager
def _locked_row(url: str, job: str) -> Iterator[None]:
    """A client that sits in a transaction with a job's row locked."""
    with psycopg.connect(url) as connection:
        connection.execute("select id from holdfast.job where id = %s for update", [job])
        yield
        connection.rollback()


def test_a_client_that_locks_a_running_jobs_row_delays_that_job_and_no_other(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    worker = fleet.start(lease=LEASE_S, only="steps,noop,nap")
    [victim] = fleet.submit("steps", pause=0.3)
    [long_one] = fleet.submit("nap", seconds=4.0)
    neighbours = [long_one, *fleet.submit("steps", 3, pause=0.3)]
    eventually(lambda: len(fleet.executions()) >= 5, what="all run")
    with _locked_row(fleet.url, victim):
        began = time.monotonic()
        while time.monotonic() - began < 2 * LEASE_S:
            job = fleet.app.job(long_one).job
            assert (job.lease_until or 0) > fleet.app.clock.now(), "its lease is kept alive"
            time.sleep(0.05)  # the pace of looking
        fleet.finished([*neighbours, *fleet.submit("noop", 5)], within_s=10)
        assert fleet.app.job(victim).state == "processing"
    fleet.finished([victim], within_s=10)

    assert_no_attempt_spent(fleet, neighbours)
    assert_steps_done(fleet, [victim])
    # Its own lease could not be renewed for longer than it lasts, and may have been taken.
    assert_ledgers_agree(fleet, [victim, *neighbours])
    assert_no_stage_repeated(fleet, extra=1)
    assert worker.is_alive
    fleet.sound()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_row_that_stays_locked_for_a_minute_is_finished_after_it(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    workers = [fleet.start(lease=LEASE_S, only="steps,noop") for _ in range(2)]
    [victim] = fleet.submit("steps", pause=0.3)
    eventually(lambda: fleet.executions(victim), what="it runs")
    finished = 0
    with _locked_row(fleet.url, victim):
        began = time.monotonic()
        while time.monotonic() - began < 60:
            fleet.finished(fleet.submit("noop", 10), within_s=10)
            finished += 10
    fleet.finished([victim], within_s=10)
    assert finished > 100
    assert all(worker.is_alive for worker in workers)
    assert_ledgers_agree(fleet, [victim])
    fleet.sound()


def _update_in_turns(url: str, jobs: list[str], stop: threading.Event, failed: list[str]) -> None:
    """Lock all the rows in the given order, again and again, as an ill-behaved client might."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set deadlock_timeout = '20ms'")
        while not stop.wait(0.01):
            try:
                with connection.transaction():
                    for job in jobs:
                        connection.execute(
                            "update holdfast.job set trace = trace where id = %s", [job]
                        )
            except psycopg.errors.DeadlockDetected as error:
                failed.append(str(error))


def test_deadlocks_with_other_writers_cost_neither_jobs_nor_attempts(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    jobs = fleet.submit("steps", 24, pause=0.05)
    stop, failed = threading.Event(), []
    orders = [sorted(jobs), sorted(jobs, reverse=True)]
    clients = [
        threading.Thread(target=_update_in_turns, args=(fleet.url, order, stop, failed))
        for order in orders
    ]
    workers = [fleet.start(lease=20.0, only="steps", concurrency=12) for _ in range(2)]
    try:
        for client in clients:
            client.start()
        fleet.finished(jobs, within_s=40)
    finally:
        stop.set()
        for client in clients:
            client.join()

    with psycopg.connect(fleet.url) as connection:
        [deadlocks] = connection.execute(
            "select deadlocks from pg_stat_database where datname = current_database()"
        ).fetchone()
    assert deadlocks, "there was no deadlock, so nothing was shown"
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    assert all(worker.is_alive for worker in workers)
    fleet.sound()


def test_several_workers_share_a_backlog_and_run_nothing_twice(fleet: Fleet) -> None:
    jobs = fleet.submit("noop", 120)
    workers = [fleet.start(concurrency=4, only="noop") for _ in range(3)]
    fleet.finished(jobs)

    assert len(fleet.executions()) == len({run.job for run in fleet.executions()}) == len(jobs)
    assert all(worker.is_alive for worker in workers)
    fleet.sound()
