"""Fresh databases for each measurement, and the questions the harness asks them."""

import itertools
import os
import sqlite3
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol

import psycopg

from bench.process import Failed
from holdfast.testing.postgres.server import PrivatePostgres

POLL_S = 0.002


class Database(Protocol):
    """One database that one system has to itself."""

    url: str

    def settle(self) -> None:
        """Bring the database to rest between filling it and measuring."""

    def count(self, statement: str) -> int:
        """The one number that a statement of a system under test selects."""


class Place(Protocol):
    """Where databases are made."""

    def fresh(self) -> AbstractContextManager[Database]:
        """A database for the length of a block, empty at its start and gone at its end."""


def finished_at_ns(database: Database, unfinished: str, *, within_s: float) -> int:
    """The moment at which the system's own tables first showed no unfinished job."""
    deadline_ns = time.monotonic_ns() + int(within_s * 1e9)
    while True:
        asked_ns = time.monotonic_ns()
        left = database.count(unfinished)
        if left == 0:
            return asked_ns
        if asked_ns > deadline_ns:
            break
        time.sleep(POLL_S)
    raise Failed(f"{left} jobs unfinished {within_s:g} s after the last handler ran")


class PostgresDatabase:
    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = psycopg.connect(url, autocommit=True)

    def settle(self) -> None:
        self._connection.execute("vacuum (analyze)")
        self._connection.execute("checkpoint")

    def count(self, statement: str) -> int:
        try:
            return self._connection.execute(statement).fetchone()[0]
        except psycopg.Error as error:
            raise Failed(f"{statement!r}: {error}") from error

    def close(self) -> None:
        self._connection.close()


class PostgresPlace:
    """Makes databases on one server and drops them after use."""

    def __init__(self, server: PrivatePostgres) -> None:
        self.url = server.url
        self._server = server
        self._numbers = itertools.count(1)

    @contextmanager
    def fresh(self) -> Iterator[Database]:
        name = f"bench_{next(self._numbers)}"
        database = PostgresDatabase(self._server.create_database(name))
        try:
            yield database
        finally:
            database.close()
            with psycopg.connect(self._server.url, autocommit=True) as connection:
                connection.execute(f"drop database {name} with (force)")


class SqliteDatabase:
    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._read_only = f"file:{path}?mode=ro"

    def settle(self) -> None:
        """Nothing to do: the programs that filled the file have closed it."""

    def count(self, statement: str) -> int:
        with closing(sqlite3.connect(self._read_only, uri=True)) as connection:
            try:
                return connection.execute(statement).fetchone()[0]
            except sqlite3.Error as error:
                raise Failed(f"{statement!r}: {error}") from error


class SqlitePlace:
    """Makes each database in a directory of its own, under `parent`."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent

    @contextmanager
    def fresh(self) -> Iterator[Database]:
        with tempfile.TemporaryDirectory(prefix="bench-sqlite-", dir=self._parent) as directory:
            yield SqliteDatabase(Path(directory) / "bench.db")


TMPFS = Path("/dev/shm")


@contextmanager
def opened_places(wanted: Collection[str], *, fsync: bool) -> Iterator[dict[str, Place]]:
    """The places of these names; PostgreSQL runs only where it is wanted.

    `sqlite` is a directory on disk, where a commit waits for its flush, and `sqlite-tmpfs` one in
    memory, where a flush costs nothing; a machine without one goes without it.
    """
    places: dict[str, Place] = {"sqlite": SqlitePlace()}
    if os.access(TMPFS, os.W_OK | os.X_OK):
        places["sqlite-tmpfs"] = SqlitePlace(TMPFS)
    if "postgresql" not in wanted:
        yield places
        return
    with PrivatePostgres(durable=True, settings={} if fsync else {"fsync": "off"}) as server:
        yield places | {"postgresql": PostgresPlace(server)}


def files_folder(*, fsync: bool) -> Path | None:
    """Where folders with files are made: in memory, unless flushes are asked for; None is /tmp."""
    return None if fsync or not os.access(TMPFS, os.W_OK | os.X_OK) else TMPFS


def server_url(places: Mapping[str, Place]) -> str | None:
    """The server that the places stand on, where there is one."""
    place = places.get("postgresql")
    return place.url if isinstance(place, PostgresPlace) else None


def measured_places(places: Mapping[str, Place], *, fsync: bool) -> dict[str, Place]:
    """One place for each kind of database, without flushes unless they are asked for."""
    sqlite = places["sqlite"] if fsync else places.get("sqlite-tmpfs", places["sqlite"])
    return {name: place for name, place in places.items() if name == "postgresql"} | {
        "sqlite": sqlite
    }
