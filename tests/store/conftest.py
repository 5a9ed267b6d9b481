"""A store of each kind, empty and migrated."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import psycopg
import pytest

from holdfast.store.contract import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.schema.migrate import Migration
from holdfast.store.sqlite.store import SqliteStore

TABLES = (
    *("job", "plan", "checkpoint", "ledger", "queue", "worker"),
    *("upstream", "dead_letter", "replay", "replay_item", "audit"),
    *("delivery", "delivery_attempt", "outbox", "inbox"),
    *("api_token", "tally", "ended_session", "kept_key"),
)
URL_FIXTURES = {"sqlite-file": "sqlite_url", "postgres": "postgres_url"}


@pytest.fixture(params=["sqlite-memory", "sqlite-file", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite-memory":
        return "sqlite://:memory:"
    return request.getfixturevalue(URL_FIXTURES[request.param])


@pytest.fixture(params=["sqlite-file", "postgres"])
def shared_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database that several stores can open."""
    return request.getfixturevalue(URL_FIXTURES[request.param])


@pytest.fixture
def open_store() -> Iterator[Callable[[str], Store]]:
    """Opens stores and closes them in the end."""
    with ExitStack() as opened:

        def open_(url: str) -> Store:
            store = SqliteStore(url) if url.startswith("sqlite:") else PostgresStore(url)
            return opened.enter_context(closing(store))

        yield open_


@pytest.fixture
def store(store_url: str, open_store: Callable[[str], Store]) -> Store:
    store = open_store(store_url)
    store.migrate()
    return store


@pytest.fixture
def other_store(store: Store, store_url: str, open_store: Callable[[str], Store]) -> Store:
    """A second store on the same database; memory has no second."""
    return store.reserve("other") if ":memory:" in store_url else open_store(store_url)


def by_hand(url: str, statement: str, *, unchecked: bool = True) -> list[tuple[object, ...]]:
    """Runs a statement behind the store's back; `{job}` is the table of jobs in its dialect.

    With `unchecked` the checks of the table itself are ignored, or gone where they would refuse it.
    """
    if url.startswith("sqlite:"):
        names = {table: f"holdfast_{table}" for table in (*TABLES, "migration")}
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute("pragma wal_autocheckpoint = 0")
            connection.execute(f"pragma ignore_check_constraints = {int(unchecked)}")
            return connection.execute(statement.format(**names)).fetchall()
    names = {table: f"holdfast.{table}" for table in (*TABLES, "migration")}
    with psycopg.connect(url) as connection:
        # Else it counts what it read as its process ends, beside what somebody else may count.
        connection.execute("select pg_stat_force_next_flush()")
        while True:
            try:
                with connection.transaction():
                    cursor = connection.execute(statement.format(**names))
                    return cursor.fetchall() if cursor.description else []
            except psycopg.errors.CheckViolation as error:
                if not unchecked:
                    raise
                connection.execute(
                    f"alter table holdfast.job drop constraint {error.diag.constraint_name}"
                )


def left_alone(store: PostgresStore, url: str) -> PostgresStore:
    """The migrated store, of whose tables the server learns nothing by itself.

    What it learns in the middle of a test makes it plan anew, and small tables are then read whole.
    """
    store.migrate()
    with psycopg.connect(url, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"alter table holdfast.{table} set (autovacuum_enabled = false)")
    return store


def script_by_hand(url: str, script: str) -> None:
    """Runs a script of several statements, as a database administrator would."""
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        # One by one, as psql does: what is done concurrently refuses any transaction around it.
        for statement in Migration(0, "by hand", script).statements:
            connection.execute(statement)
