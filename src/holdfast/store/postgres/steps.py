"""Named statements on PostgreSQL, for the parts of a store that both databases share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from holdfast.store.postgres.connection import Connection
from holdfast.store.postgres.statements import AnyConnection, borrowed, changed, fetch
from holdfast.store.statements.sql import Steps

_T = TypeVar("_T")


class Run(Protocol):
    """Runs an operation on a connection, again where that is safe."""

    def __call__(self, operation: Callable[[Connection], _T], *, atomic: bool = False) -> _T:
        """Run it, in a transaction when `atomic`."""
        ...


class PostgresSteps:
    """Statements in one transaction."""

    def __init__(self, connection: AnyConnection) -> None:
        self._connection = connection

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return fetch(self._connection, statement, dict(values))

    def count(self, statement: str, values: Mapping[str, Any]) -> int:
        return changed(self._connection, statement, dict(values))


class PostgresSql:
    """Statements, each in a transaction of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._run(lambda own: PostgresSteps(own).rows(statement, values))

    def count(self, statement: str, values: Mapping[str, Any]) -> int:
        return self._run(lambda own: PostgresSteps(own).count(statement, values))

    def written(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self.rows(statement, values)  # which commits it as well

    def transact(self, work: Callable[[Steps], _T], *, connection: object = None) -> _T:
        if connection is not None:
            return work(PostgresSteps(borrowed(connection)))
        return self._run(lambda own: work(PostgresSteps(own)), atomic=True)
