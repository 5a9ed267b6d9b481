"""Connections to SQLite of an event loop: aiosqlite's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from holdfast.store.awaited.connection import AwaitedConnection


class AwaitedSqlite(AwaitedConnection):
    """An `aiosqlite.Connection`, with what the store uses of a `sqlite3.Connection`."""

    @property
    def in_transaction(self) -> bool:
        """Whether what is written now waits for a commit."""
        return bool(self.connection.in_transaction)

    @property
    def isolation_level(self) -> str | None:
        """What the driver begins transactions with; None where that is left to the caller."""
        level: str | None = self.connection.isolation_level
        return level

    def cursor(self) -> AwaitedCursor:
        """Return a cursor."""
        return AwaitedCursor(self)


class AwaitedCursor:
    """Runs statements and keeps the rows of the last one."""

    row_factory: object = None
    rowcount = -1

    def __init__(self, lent: AwaitedSqlite) -> None:
        self._lent = lent
        self._rows: Iterator[tuple[Any, ...]] = iter(())

    def execute(self, sql: str, values: Any = ()) -> Self:  # noqa: ANN401 - as sqlite3 takes them
        """Run a statement."""
        return self._ran("execute", sql, values)

    def executemany(self, sql: str, values: Any) -> Self:  # noqa: ANN401 - as above
        """Run a statement once for each row of values."""
        return self._ran("executemany", sql, values)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        return list(self._rows)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row."""
        return next(self._rows, None)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def _ran(self, method: str, sql: str, values: Any) -> Self:  # noqa: ANN401 - as above
        rows, self.rowcount = self._lent.wait_for(self._run(method, sql, values))
        self._rows = iter(rows)
        return self

    async def _run(self, method: str, sql: str, values: Any) -> tuple[list[Any], int]:  # noqa: ANN401 - as above
        cursor = await self._lent.connection.cursor()
        try:
            cursor.row_factory = None
            await getattr(cursor, method)(sql, values)
            return list(await cursor.fetchall()), cursor.rowcount
        finally:
            await cursor.close()
