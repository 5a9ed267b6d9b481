"""What needs a person is found by indexes: what has ended costs nothing, however much it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.testing.postgres.databases import DisposableDatabases
from tests.console.site import Site
from tests.store.conftest import left_alone
from tests.store.copies import Copies, copy, settle

ENDED = 20_000
READ_BY_INDEX = ("job", "dead_letter", "delivery", "outbox")
RESOLVED = {"state": "'resolved'", "resolved_at": "at", "owner": "'ann'"}
COMPLETE = {"key": "'copy-' || n", "created_at": "at", "updated_at": "at"}


def ended(site: Site) -> list[Copies]:
    """Return very many jobs, letters, deliveries and messages that nobody is needed for."""
    there = site.fill()
    from_ms = site.app.clock.now() // 1000 + 1
    sent = {
        "state": "'sent'",
        "subject": "'s-' || n",
        "notified_at": "at",
        "job_told": "1",
        "holder": "null",
        "lease_until": "null",
    }
    published = {"status": "'published'", "processed_at": "at", "aggregate_id": "'a-' || n"}
    return [
        Copies("job", there.complete, ENDED, from_ms, COMPLETE),
        Copies("dead_letter", there.failed, ENDED, from_ms, RESOLVED),
        Copies("delivery", there.delivery, ENDED, from_ms, sent),
        Copies("outbox", there.message, ENDED, from_ms, published),
    ]


class TestSqlite:
    def test_what_has_ended_costs_the_list_nothing(self, sqlite_url: str):
        with closing(Site(sqlite_url)) as site:
            crowd = ended(site)
            few = steps(site.app)
            for copies in crowd:
                copy(sqlite_url, copies)

            many = steps(site.app)

        assert many < 1.5 * few


def steps(app: Holdfast) -> int:
    """Return how many steps of its virtual machine SQLite takes for the list."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    app.attention()  # compiles its statements, which takes steps too
    connections = _connections(app)
    for connection in connections:
        connection.set_progress_handler(count, 1)
    app.attention()
    for connection in connections:
        connection.set_progress_handler(None, 0)
    return counted[0]


def _connections(app: Holdfast) -> list[sqlite3.Connection]:
    database = app.store._database
    return [database._open(), *database._idle_readers]


class TestPostgres:
    @pytest.fixture
    def place(self, postgres_databases: DisposableDatabases) -> Iterator[tuple[Site, str]]:
        url = postgres_databases.fresh()
        with closing(Site(url)) as made:
            left_alone(made.app.store, url)
            for copies in ended(made):
                copy(url, copies)
            settle(url)
            yield made, url
        postgres_databases.use_up(url)

    def test_no_table_that_grows_is_read_whole(self, place: tuple[Site, str]):
        site, url = place
        before = _scans(site.app, url)
        for _ in range(6):
            site.app.attention()

        after = _scans(site.app, url)

        assert after["dead_letter_waiting"] > before["dead_letter_waiting"], "nothing was counted"
        whole = {table: after[table] - before[table] for table in READ_BY_INDEX}
        assert whole == dict.fromkeys(READ_BY_INDEX, 0)


def _scans(app: Holdfast, url: str) -> dict[str, int]:
    """Return how often each table was read whole, and each index was used."""
    with app.store.transaction() as connection:
        connection.execute("select pg_stat_force_next_flush()")
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "select relname, seq_scan from pg_stat_user_tables where schemaname = 'holdfast'"
        ).fetchall()
        indexes = connection.execute(
            "select indexrelname, idx_scan from pg_stat_user_indexes where schemaname = 'holdfast'"
        ).fetchall()
    return dict(tables) | dict(indexes)
