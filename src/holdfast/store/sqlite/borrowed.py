"""The caller's own connection: rows that commit or roll back together with the caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from holdfast.errors import UsageError
from holdfast.store.awaited.sqlite import AwaitedSqlite
from holdfast.store.sqlite.connection import Database

_SAVEPOINT: Final = "holdfast_insert"


@contextmanager
def inside(database: Database, connection: object) -> Iterator[sqlite3.Cursor]:
    """Lend a cursor of the caller's connection; an error undoes what was done here, no more."""
    if isinstance(connection, AwaitedSqlite):
        connection = cast("sqlite3.Connection", connection)  # for all that is used of it here
    elif not isinstance(connection, sqlite3.Connection):
        kind = type(connection)
        raise UsageError(
            f"connection is a {kind.__name__} of {kind.__module__}; a SQLite store needs the "
            "connection of the transaction that the jobs belong to: of sqlite3, of SQLAlchemy on "
            "it (sqlite://), or the alias of Django's"
        )
    cursor = connection.cursor()
    cursor.row_factory = None
    if database.owns(connection):
        yield cursor
        return
    _refuse_other_database(database, cursor)
    try:
        _begin(connection, cursor)
        # A commit of the caller's must not start a checkpoint beside the store's own.
        cursor.execute("pragma wal_autocheckpoint = 0")
        cursor.execute(f"savepoint {_SAVEPOINT}")
        try:
            yield cursor
        except BaseException:
            if connection.in_transaction:
                cursor.execute(f"rollback to {_SAVEPOINT}")
                cursor.execute(f"release {_SAVEPOINT}")
            raise
        cursor.execute(f"release {_SAVEPOINT}")
    except sqlite3.Error as error:
        database.raise_named(error)


def _begin(connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> None:
    if connection.in_transaction:
        return
    if connection.isolation_level is None or getattr(connection, "autocommit", False) is True:
        raise UsageError(
            "connection has no transaction open, so nothing would hold the jobs together with "
            "your own rows; execute BEGIN IMMEDIATE on it first, or leave AUTOCOMMIT out where "
            "SQLAlchemy opened it"
        )
    # What the driver would do before the caller's own first write, and commit() ends.
    cursor.execute("begin immediate")


def _refuse_other_database(database: Database, cursor: sqlite3.Cursor) -> None:
    files = {name: path for _, name, path in cursor.execute("pragma database_list")}
    theirs, ours = files.get("main", ""), database.location.path
    if ours is None or not theirs or not Path(theirs).samefile(ours):
        raise UsageError(
            f"connection belongs to {theirs or 'another database in memory'}, the store is at "
            f"{database.location.url}; pass a connection to the same database"
        )
