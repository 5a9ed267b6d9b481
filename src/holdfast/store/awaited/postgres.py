"""Connections to PostgreSQL of an event loop: psycopg's and asyncpg's."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.sql import quote

from holdfast.store.awaited.connection import AwaitedConnection

_PLACEHOLDER: Final = re.compile(r"%(?:%|\((\w+)\)s)")


class Answer(NamedTuple):
    """The rows of a statement, and how many it changed."""

    rows: list[tuple[Any, ...]]
    changed: int


class AwaitedPostgres(AwaitedConnection, ABC):
    """A connection to PostgreSQL that is awaited."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether what is written now waits for a commit."""

    @abstractmethod
    async def _run(self, query: str, values: Mapping[str, Any]) -> Answer: ...

    def run(self, query: str, values: Mapping[str, Any]) -> Answer:
        """Run a statement with values as psycopg takes them."""
        return self.wait_for(self._run(query, values))


class AwaitedPsycopg(AwaitedPostgres):
    """A `psycopg.AsyncConnection`."""

    @property
    def in_transaction(self) -> bool:
        """Whether what is written now waits for a commit; a transaction begins by itself."""
        idle = self.connection.info.transaction_status is TransactionStatus.IDLE
        return not (self.connection.autocommit and idle)

    async def _run(self, query: str, values: Mapping[str, Any]) -> Answer:
        # Not of the class that the caller chose, which may bind or return values in other ways.
        cursor = psycopg.AsyncCursor(self.connection, row_factory=tuple_row)
        cursor.format = Format.BINARY
        await cursor.execute(query.encode(), values)
        rows = await cursor.fetchall() if cursor.description else []
        return Answer(rows, cursor.rowcount)


class AwaitedAsyncpg(AwaitedPostgres):
    """An `asyncpg.Connection`.

    It would encode each value as the server says its parameter is, and the caller may have changed
    how. Values are therefore written into the text, where they mean what they mean to psycopg.
    """

    @property
    def in_transaction(self) -> bool:
        """Whether what is written now waits for a commit."""
        return bool(self.connection.is_in_transaction())

    async def _run(self, query: str, values: Mapping[str, Any]) -> Answer:
        # Without a name it takes no place among the statements that the caller has prepared.
        prepared = await self.connection.prepare(_with_values(query, values), name="")
        rows = await prepared.fetch()
        count = str(prepared.get_statusmsg()).rpartition(" ")[2]
        return Answer([tuple(row) for row in rows], int(count) if count.isdecimal() else -1)


def _with_values(query: str, values: Mapping[str, Any]) -> str:
    """Return a statement with its values quoted in place of their names."""
    return _PLACEHOLDER.sub(
        lambda found: "%" if found[1] is None else quote(values[found[1]]), query
    )
