"""A worker with nothing to do costs next to nothing, whatever has become of its connections."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holdfast.testing.servers.proxy import PostgresProxy
from tests.crash.fleet import Fleet, WorkerProcess, eventually

pytestmark = pytest.mark.slow

MOST = 0.02
WINDOW_S = 5.0
QUIET = {"only": "noop", "lease": 30.0, "poll": 1.0, "sweep": 1.0}
"""As workers are by default."""


def _cpu_s(worker: WorkerProcess) -> float:
    """The processor time that the worker has used."""
    stat = Path(f"/proc/{worker.pid}/stat").read_text(encoding="utf-8")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _busy(worker: WorkerProcess) -> float:
    """The part of a processor that the worker uses, over some seconds."""
    began_s, used_s = time.monotonic(), _cpu_s(worker)
    time.sleep(WINDOW_S)  # the length of the measurement
    return (_cpu_s(worker) - used_s) / (time.monotonic() - began_s)


def _idle_worker(fleet: Fleet, **options: object) -> WorkerProcess:
    worker = fleet.start(**{**QUIET, **options})
    fleet.finished(fleet.submit("noop", 3))
    return worker


def test_an_idle_worker_hardly_uses_the_processor(fleet: Fleet) -> None:
    worker = _idle_worker(fleet)

    assert _busy(worker) < MOST


def _listeners(fleet: Fleet) -> list[int]:
    with psycopg.connect(fleet.url, autocommit=True) as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity where datname = current_database()"
            " and query ilike 'listen%'"
        ).fetchall()
    return [pid for (pid,) in rows]


def _kill(fleet: Fleet, pids: list[int]) -> None:
    with psycopg.connect(fleet.url, autocommit=True) as connection:
        for pid in pids:
            connection.execute("select pg_terminate_backend(%s)", [pid])


def test_a_worker_whose_listener_is_killed_listens_anew_and_does_not_spin(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    worker = _idle_worker(fleet, poll=60.0)
    before = eventually(lambda: _listeners(fleet), what="it listens")
    _kill(fleet, before)

    assert _busy(worker) < MOST
    eventually(lambda: set(_listeners(fleet)) - set(before), what="it listens anew")
    fleet.finished(fleet.submit("noop", 3), within_s=5)
    assert worker.is_alive


@pytest.mark.slow
def test_a_worker_whose_listener_is_killed_again_and_again_does_not_spin(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    worker = _idle_worker(fleet)
    began_s, used_s = time.monotonic(), _cpu_s(worker)
    kills = 0
    while time.monotonic() - began_s < 2 * WINDOW_S:
        pids = _listeners(fleet)
        _kill(fleet, pids)
        kills += len(pids)
        time.sleep(0.2)  # the pace of the kills

    assert kills > 5
    # Each new connection costs something, so this is no idle worker.
    assert (_cpu_s(worker) - used_s) / (2 * WINDOW_S) < 5 * MOST
    fleet.finished(fleet.submit("noop", 3), within_s=5)


@pytest.fixture
def proxy(postgres_fleet: Fleet) -> Iterator[PostgresProxy]:
    with PostgresProxy(postgres_fleet.url) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refuse", "black_hole"])
def test_a_worker_that_cannot_reach_its_database_does_not_spin(
    postgres_fleet: Fleet, proxy: PostgresProxy, fault: str
) -> None:
    fleet = postgres_fleet
    worker = _idle_worker(fleet, url=proxy.url)
    getattr(proxy, fault)()

    assert _busy(worker) < 2 * MOST
    proxy.pass_through()
    fleet.finished(fleet.submit("noop", 3), within_s=40)
    assert worker.is_alive
