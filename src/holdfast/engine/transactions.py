"""A program's own rows beside jobs and messages: written in transactions, read without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NoReturn

from holdfast.core.values.instant import to_datetime
from holdfast.engine.connections.resolve import resolved
from holdfast.errors import HoldfastError, UsageError
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store
from holdfast.store.schema.system_sql import Ran, Value, writes

_NOTHING: Final[Mapping[str, Value]] = MappingProxyType({})


class Reading:
    """What is committed in the store's database, read without a transaction.

    Statements are written once for both databases: values as `:name`, tables of a system as
    `system.table`. One that would write is refused.
    """

    def __init__(self, store: Store, connection: object, *, now: datetime) -> None:
        self.now = now
        """When it began, by the store's clock, in UTC."""
        self._connection: Any = connection
        self._store = store
        self._failed: HoldfastError | None = None

    def rows(self, sql: str, values: Mapping[str, Value] = _NOTHING) -> list[dict[str, Any]]:
        """Run a statement and return its rows, by the names of their columns."""
        return self._run(sql, values).rows

    def row(self, sql: str, values: Mapping[str, Value] = _NOTHING) -> dict[str, Any] | None:
        """Run a statement and return its only row, or None; raise `UsageError` for several."""
        rows = self._run(sql, values).rows
        if len(rows) > 1:
            raise UsageError(f"the statement returned {len(rows)} rows; row() is for one at most")
        return rows[0] if rows else None

    def _run(self, sql: str, values: Mapping[str, Value]) -> Ran:
        self._check(sql)
        self.refuse_failed()
        try:
            return self._store.run_statement(sql, values, connection=self._connection)
        except HoldfastError as error:
            self._failed = error
            raise

    def _check(self, sql: str) -> None:
        if writes(sql):
            raise UsageError("reading() is for statements that read; open a transaction() to write")

    def refuse_failed(self) -> None:
        """Raise `UsageError` after a statement that failed: nothing more can be committed."""
        if self._failed is not None:
            raise UsageError(
                f"a statement of this transaction failed ({self._failed}), so that it can only be "
                "rolled back; let its error leave the block"
            ) from self._failed


class Transaction(Reading):
    """One transaction on the store's database.

    Statements are written as for `Reading`. One that fails ends the transaction, whatever is done
    about its error.
    """

    @property
    def connection(self) -> Any:  # noqa: ANN401 - of whichever driver
        """What `connection=` of `submit`, `publish` and the others takes."""
        return self._connection

    def execute(self, sql: str, values: Mapping[str, Value] = _NOTHING) -> int:
        """Run a statement and return how many rows it changed."""
        return self._run(sql, values).changed

    def _check(self, sql: str) -> None:
        """Take whatever the database takes."""


class _OneStatement(Transaction):
    """A transaction that is one statement."""

    _ran = False

    @property
    def connection(self) -> NoReturn:
        raise UsageError(
            "a transaction of one statement takes nothing else; leave one_statement out"
        )

    def _run(self, sql: str, values: Mapping[str, Value]) -> Ran:
        if self._ran:
            raise UsageError("this transaction is for one statement; leave one_statement out")
        self._ran = True
        return super()._run(sql, values)


class Transactions:
    """Opens transactions on a store."""

    def __init__(self, store: Callable[[], Store], *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @contextmanager
    def open(
        self, *, connection: object = None, one_statement: bool = False
    ) -> Iterator[Transaction]:
        """Open a transaction, committed at the end of the block and rolled back by an exception.

        With `connection`, such as a consumer's handler gets, it is part of the caller's own
        transaction on the same database, and nothing is committed here. With `one_statement` the
        block runs one at most, which PostgreSQL then commits by itself: one question in place of
        three. Raises `UnavailableError` where the database cannot be reached: the block may be run
        again.
        """
        store = self._store()
        now = to_datetime(self._clock.now())
        if connection is not None:
            yield from self._block(Transaction(store, resolved(connection), now=now))
            return
        kind = _OneStatement if one_statement else Transaction
        with store.transaction(one_statement=one_statement) as own:
            yield from self._block(kind(store, own, now=now))

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Read rows without a transaction: nobody who writes is waited for or made to wait.

        Every statement sees what is committed when it begins. Raises as `open` does.
        """
        store = self._store()
        now = to_datetime(self._clock.now())
        with store.reading() as connection:
            yield Reading(store, connection, now=now)

    def _block(self, transaction: Transaction) -> Iterator[Transaction]:
        yield transaction
        transaction.refuse_failed()
