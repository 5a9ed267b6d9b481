"""Schemas that move on while workers run, and workers that meet one they do not know."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Self

import psycopg

from holdfast.store.postgres.migrations import MIGRATIONS as POSTGRES_MIGRATIONS
from holdfast.store.postgres.migrations import PostgresDialect
from holdfast.store.schema import migrate as runner
from holdfast.store.schema.migrate import Migration
from holdfast.store.sqlite.connection import Database
from holdfast.store.sqlite.migrations import MIGRATIONS as SQLITE_MIGRATIONS
from holdfast.store.sqlite.migrations import SqliteDialect
from tests.crash.fleet import Fleet, eventually
from tests.crash.verdict import assert_no_attempt_spent

JOBS_PER_S = 200
NEXT = len(POSTGRES_MIGRATIONS) + 1
ON_POSTGRES = [
    Migration(
        NEXT,
        f"{NEXT:04}_column",
        "alter table holdfast.job add column extra integer;\n"
        "alter table holdfast.job add column more text default 'x';\n",
    ),
    Migration(
        NEXT + 1,
        f"{NEXT + 1:04}_index",
        "-- concurrently\n"
        "drop index concurrently if exists holdfast.job_extra;\n"
        "create index concurrently job_extra on holdfast.job (owner, created_at);\n",
    ),
]
ON_SQLITE = [
    Migration(
        NEXT,
        f"{NEXT:04}_column",
        "alter table holdfast_job add column extra integer;\n"
        "create index holdfast_job_extra on holdfast_job (owner, created_at);\n",
    )
]


def _migrate(fleet: Fleet) -> None:
    if fleet.url.startswith("sqlite"):
        database = Database(fleet.url)
        runner.migrate(
            SqliteDialect(database, fleet.app.store.read_clock), [*SQLITE_MIGRATIONS, *ON_SQLITE]
        )
        database.close()
        return
    with psycopg.connect(fleet.url, autocommit=True) as connection:
        runner.migrate(PostgresDialect(connection), [*POSTGRES_MIGRATIONS, *ON_POSTGRES])


class _Load:
    """Submits jobs at an even pace until it is stopped, and notes how long each took."""

    def __init__(self, fleet: Fleet) -> None:
        self.jobs: list[str] = []
        self.waits_s: list[float] = []
        self._fleet = fleet
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        for number in itertools.count():
            if self._stop.wait(max(began + number / JOBS_PER_S - time.monotonic(), 0)):
                return
            asked = time.monotonic()
            self.jobs += self._fleet.submit("noop")
            self.waits_s.append(time.monotonic() - asked)


def _while_under_load(fleet: Fleet, action: Callable[[], None]) -> _Load:
    with _Load(fleet) as load:
        eventually(lambda: len(load.jobs) > 100, what="jobs flow")
        action()
        enough = len(load.jobs) + 100
        eventually(lambda: len(load.jobs) > enough, what="jobs still flow")
    return load


def test_workers_go_on_while_the_schema_moves_forward_and_nobody_waits_long(fleet: Fleet) -> None:
    workers = [fleet.start(only="noop", lease=10.0) for _ in range(2)]
    for worker in workers:
        worker.said("started")
    load = _while_under_load(fleet, lambda: _migrate(fleet))

    fleet.finished(load.jobs)
    assert max(load.waits_s) < 1.0
    assert_no_attempt_spent(fleet, load.jobs[:20])
    assert len(fleet.executions()) == len(load.jobs)
    assert all(worker.is_alive for worker in workers)
    assert not [line for worker in workers for line in worker.log() if line["level"] == "ERROR"]
    newcomer = fleet.start(only="noop")
    assert newcomer.ended() == 1
    assert "SchemaTooNew" in newcomer.story()
    assert fleet.app.verify() == []


def test_workers_that_start_at_once_on_an_empty_database_all_work(newcomers: Fleet) -> None:
    workers = [newcomers.start(only="noop") for _ in range(4)]
    for worker in workers:
        worker.said("started")
    newcomers.finished(newcomers.submit("noop", 20))
    assert all(worker.is_alive for worker in workers)


def test_a_worker_that_may_not_migrate_names_the_schema_it_needs(newcomers: Fleet) -> None:
    worker = newcomers.start(only="noop", no_migrate=True)
    assert worker.ended() == 1
    assert "SchemaTooOld" in worker.story()
    assert "migrate the database first" in worker.story()
