"""A store of each kind, empty and migrated."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from holdfast.store.contract import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.postgres_databases import DisposableDatabases

TABLES = (
    *("job", "plan", "checkpoint", "ledger", "queue", "worker"),
    *("upstream", "dead_letter", "replay", "replay_item", "audit"),
    *("delivery", "outbox", "inbox"),
)


def _migrate(url: str) -> None:
    store = PostgresStore(url)
    store.migrate()
    store.close()


@pytest.fixture(scope="session")
def migrated_postgres_url(postgres_databases: DisposableDatabases) -> str:
    """A migrated database for all tests of this process that leave its schema alone."""
    return postgres_databases.fresh(
        template=postgres_databases.template("migrated", build=_migrate)
    )


@pytest.fixture
def emptied_postgres_url(migrated_postgres_url: str) -> str:
    with psycopg.connect(migrated_postgres_url, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"delete from holdfast.{table}")
    return migrated_postgres_url


@pytest.fixture(params=["sqlite-memory", "sqlite-file", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("emptied_postgres_url")
    return "sqlite://:memory:" if request.param == "sqlite-memory" else _file_url(tmp_path)


@pytest.fixture(params=["sqlite-file", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that several stores can open."""
    if request.param == "postgres":
        return request.getfixturevalue("emptied_postgres_url")
    return _file_url(tmp_path)


@pytest.fixture
def open_store() -> Iterator[Callable[[str], Store]]:
    """Opens stores and closes them in the end."""
    opened: list[Store] = []

    def open_(url: str) -> Store:
        store = SqliteStore(url) if url.startswith("sqlite:") else PostgresStore(url)
        opened.append(store)
        return store

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def store(store_url: str, open_store: Callable[[str], Store]) -> Store:
    store = open_store(store_url)
    store.migrate()
    return store


@pytest.fixture
def other_store(store: Store, store_url: str, open_store: Callable[[str], Store]) -> Store:
    """A second store on the same database; memory has no second."""
    return store.reserve("other") if ":memory:" in store_url else open_store(store_url)


def _file_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'holdfast.db'}"


def by_hand(url: str, statement: str, *, unchecked: bool = True) -> list[tuple[object, ...]]:
    """Runs a statement behind the store's back; `{job}` is the table of jobs in its dialect.

    Where the dialect can, `unchecked` ignores the checks of the table itself.
    """
    if url.startswith("sqlite:"):
        names = {table: f"holdfast_{table}" for table in (*TABLES, "migration")}
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute("pragma wal_autocheckpoint = 0")
            connection.execute(f"pragma ignore_check_constraints = {int(unchecked)}")
            return connection.execute(statement.format(**names)).fetchall()
    names = {table: f"holdfast.{table}" for table in (*TABLES, "migration")}
    with psycopg.connect(url) as connection:
        cursor = connection.execute(statement.format(**names))
        return cursor.fetchall() if cursor.description else []


def script_by_hand(url: str, script: str) -> None:
    """Runs a script of several statements, as a database administrator would."""
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(script)
