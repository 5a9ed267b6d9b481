"""Named statements on SQLite, for the parts of a store that both databases share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from holdfast.store.sqlite import borrowed
from holdfast.store.sqlite.connection import Database
from holdfast.store.sqlite.narrowing import narrowed
from holdfast.store.sqlite.statements import SQL
from holdfast.store.statements.sql import Steps

_T = TypeVar("_T")


class SqliteSteps:
    """Statements in one transaction."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        text = narrowed(SQL[statement], values)
        return self._cursor.execute(text, dict(values)).fetchall()

    def count(self, statement: str, values: Mapping[str, Any]) -> int:
        return self._cursor.execute(SQL[statement], dict(values)).rowcount


class SqliteSql:
    """Statements, each in a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._database.read(lambda cursor: SqliteSteps(cursor).rows(statement, values))

    def count(self, statement: str, values: Mapping[str, Any]) -> int:
        return self._database.write(lambda cursor: SqliteSteps(cursor).count(statement, values))

    def written(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._database.write(lambda cursor: SqliteSteps(cursor).rows(statement, values))

    def transact(self, work: Callable[[Steps], _T], *, connection: object = None) -> _T:
        if connection is None:
            return self._database.write(lambda cursor: work(SqliteSteps(cursor)))
        with borrowed.inside(self._database, connection) as cursor:
            return work(SqliteSteps(cursor))
