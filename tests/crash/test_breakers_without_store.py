"""Workers that lose their database while a breaker is open: it stays as it was, for everybody."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from holdfast import JobState, Submit
from holdfast.core.upstream.upstream import Gate
from holdfast.store.contract import JobFilter
from holdfast.testing.postgres.server import PrivatePostgres
from tests.crash.fleet import Fleet, eventually
from tests.crash.gateway import Gateway
from tests.crash.program import BREAKER, GATEWAY_VARIABLE

JOBS = 20
Cut = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def fleet_and_cut(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Fleet, Cut]]:
    """Workers, and what takes their database away for a while."""
    if request.param == "sqlite":
        path = tmp_path / "holdfast.db"
        url, cut = f"sqlite:///{path}", lambda: _locked(path)
    else:
        server = request.getfixturevalue("postgres_server")
        url, cut = server.url, lambda: _stopped(server)
    fleet = Fleet(url, folder=tmp_path)
    try:
        yield fleet, cut
    finally:
        fleet.end()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let nobody else write the file."""
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as other:
        other.execute("begin exclusive")
        yield
        other.execute("rollback")


@contextmanager
def _stopped(server: PrivatePostgres) -> Iterator[None]:
    server.stop("immediate")
    yield
    server.start()


def test_without_the_store_nobody_tries_and_with_it_the_fleet_goes_on(
    fleet_and_cut: tuple[Fleet, Cut], gateway: Gateway
) -> None:
    fleet, cut = fleet_and_cut
    gateway.down()
    fleet.app.submit_many("guarded", [Submit() for _ in range(JOBS)])
    workers = [
        fleet.start(only="guarded", lease=30.0, environment={GATEWAY_VARIABLE: str(gateway.port)})
        for _ in range(2)
    ]
    for worker in workers:
        worker.said("started", within_s=50)
    eventually(
        lambda: fleet.app.store.upstreams.get("gateway").gate is Gate.OPEN,
        what="the breaker has opened",
    )
    with cut():
        time.sleep(0.2)  # what was under way has arrived
        before = len(gateway.arrivals)
        gateway.up()
        time.sleep(3 * BREAKER.cooldown)
        during = len(gateway.arrivals) - before

    eventually(
        lambda: len(fleet.app.jobs(JobFilter(states=(JobState.COMPLETE,)))) == JOBS,
        what="every job is complete",
        within_s=40,
    )
    assert during == 0, "no trial without a permit"
    assert all(worker.is_alive for worker in workers)
    assert fleet.app.store.upstreams.get("gateway").gate is Gate.CLOSED
    fleet.sound()
