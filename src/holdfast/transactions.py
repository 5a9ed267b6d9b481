"""Transactions on the store's database: a program's own rows beside jobs and messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from holdfast.core.instant import to_datetime
from holdfast.errors import HoldfastError, UsageError
from holdfast.store.contract import Store
from holdfast.store.system_sql import Ran, Value
from holdfast.store_access import StoreAccess

_NOTHING: Final[Mapping[str, Value]] = MappingProxyType({})


class Transaction:
    """One transaction on the store's database.

    Statements are written once for both databases: values as `:name`, tables of a system as
    `system.table`. A statement that fails ends the transaction, whatever is done about its error.
    """

    def __init__(self, store: Store, connection: Any, *, now: datetime) -> None:  # noqa: ANN401
        self.connection: Any = connection
        """What `connection=` of `submit`, `publish` and the others takes."""
        self.now = now
        """When the transaction began, by the store's clock, in UTC."""
        self._store = store
        self._failed: HoldfastError | None = None

    def execute(self, sql: str, values: Mapping[str, Value] = _NOTHING) -> int:
        """Run a statement and return how many rows it changed."""
        return self._run(sql, values).changed

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
        self.refuse_failed()
        try:
            return self._store.run_statement(sql, values, connection=self.connection)
        except HoldfastError as error:
            self._failed = error
            raise

    def refuse_failed(self) -> None:
        """Raise `UsageError` after a statement that failed: nothing more can be committed."""
        if self._failed is not None:
            raise UsageError(
                f"a statement of this transaction failed ({self._failed}), so that it can only be "
                "rolled back; let its error leave the block"
            ) from self._failed


class TransactionVerbs(StoreAccess):
    """The part of `Holdfast` that opens transactions."""

    @contextmanager
    def transaction(self, *, connection: object = None) -> Iterator[Transaction]:
        """Open a transaction, committed at the end of the block and rolled back by an exception.

        With `connection`, such as a consumer's handler gets, it is part of the caller's own
        transaction on the same database, and nothing is committed here. Raises
        `UnavailableError` where the database cannot be reached: the block may be run again.
        """
        store = self.store
        now = to_datetime(self.clock.now())
        if connection is not None:
            yield from self._block(Transaction(store, connection, now=now))
            return
        with store.transaction() as own:
            yield from self._block(Transaction(store, own, now=now))

    def _block(self, transaction: Transaction) -> Iterator[Transaction]:
        yield transaction
        transaction.refuse_failed()
