"""Connections to PostgreSQL: opened late, guarded against forks, named when they fail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar

import psycopg
from psycopg import errors as pg_errors
from psycopg.pq import TransactionStatus

from holdfast.errors import ForkedProcess, ReadTooSlow, SchemaMissing, StoreUnavailable
from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.endpoint import Endpoint, Settings, first_line, for_transaction
from holdfast.store.statements.processes import this_process
from holdfast.store.statements.statement_timeout import longest_read_s

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_T = TypeVar("_T")

STATEMENT_TIMEOUT_S: Final = 30.0
SILENCE_S: Final = 2.0
"""How much longer than a statement may take the server's silence is borne."""
LOCK_TIMEOUT_MS: Final = 2_000
LEND_TIMEOUT_S: Final = 10.0
PREPARED_FROM: Final = 1
"""How often a statement is run on a connection before it is prepared: the second time shows that
there will be more, and to plan a claim or a write takes longer than to run it."""

# A dead peer is noticed in about this time even when nothing answers: idle + interval * count,
# and TCP_USER_TIMEOUT for data that was sent and never acknowledged.
_KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}

# The services' statements are few, and each leans on one index, whatever the statistics say:
# they are planned once, and the plan is the one that reads by that index. Two sets without one
# would be compared row by row.
_PLANNED_ONCE: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}

RETRIED_AT_ONCE: Final = (pg_errors.SerializationFailure, pg_errors.DeadlockDetected)
"""Whole transactions that PostgreSQL rolled back and that may be run again unchanged."""

_OUTAGES: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    pg_errors.ReadOnlySqlTransaction,
    pg_errors.InternalError_,
)
_NO_SCHEMA: Final = (pg_errors.UndefinedTable, pg_errors.InvalidSchemaName)


class Connections:
    """The connections of one store: opened when used, kept for the next use, the last one first.

    At most `size` are lent at a time. Nothing is used in another process than the one that
    opened it.
    """

    def __init__(
        self,
        url: str | Endpoint,
        *,
        name: str,
        size: int,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
        generic_plans: bool = False,
    ) -> None:
        self.endpoint = url if isinstance(url, Endpoint) else Endpoint(url)
        self.location = self.endpoint.location
        self._parameters = {
            "application_name": f"holdfast {name}",
            **_KEEPALIVE,
        }
        self._statement_timeout_s = statement_timeout_s
        self._planning = _PLANNED_ONCE if generic_plans else {}
        self._opened_in: int | None = None
        self._places: SimpleQueue[None] = SimpleQueue()
        for _ in range(size):
            self._places.put(None)
        # By how long their statements may take: to bound one anew takes a question of its own,
        # which reads and writes in turn would ask nearly every time.
        self._idle = defaultdict[float | None, list[BoundedConnection]](list)

    def connect(self) -> BoundedConnection:
        """Open a connection in autocommit; the caller closes it."""
        return self._opened(self.endpoint.connect)

    def connect_direct(self) -> BoundedConnection:
        """Open a connection past a pooler, where a URL is known for that; the caller closes it."""
        return self._opened(self.endpoint.connect_direct)

    def _opened(self, connect: Callable[..., BoundedConnection]) -> BoundedConnection:
        self._refuse_fork()
        with self.outage_named():
            connection = connect(self.settings(self._statement_timeout_s), **self._parameters)
        connection.answer_timeout_s = self._statement_timeout_s + SILENCE_S
        connection.statement_timeout_s = self._statement_timeout_s
        if not connection.pooled:
            connection.prepare_threshold = PREPARED_FROM
        return connection

    def settings(self, statement_timeout_s: float) -> Settings:
        """Return what sessions are set to, or transactions where sessions do not last."""
        return {
            "statement_timeout": max(int(statement_timeout_s * 1000), 1),
            "lock_timeout": LOCK_TIMEOUT_MS,
            "idle_in_transaction_session_timeout": 60_000,
            "jit": "off",
            **self._planning,
        }

    def lent_to(self, operation: Callable[[BoundedConnection], _T]) -> _T:
        """Return what `operation` makes of a connection in autocommit, which is lent to it.

        One that failed is not lent again. Through a pooler it is in a transaction, because the
        settings would not last for longer.
        """
        connection = self._lend()
        try:
            if connection.pooled:
                result = self._in_transaction(operation, connection)
            else:
                result = operation(connection)
        except BaseException as error:
            self._take_back(connection, error)
            raise
        self._keep(connection)
        return result

    def _in_transaction(
        self, operation: Callable[[BoundedConnection], _T], connection: BoundedConnection
    ) -> _T:
        settings = self.settings(connection.statement_timeout_s or self._statement_timeout_s)
        connection.execute(f"begin; {for_transaction(settings)}".encode())
        try:
            result = operation(connection)
        except BaseException:
            if not connection.closed:
                with suppress(psycopg.Error):
                    connection.execute("rollback")
            raise
        connection.execute("commit")
        return result

    def bound_transaction(self, connection: BoundedConnection) -> None:
        """Set what sessions are set to for the transaction that is open on a connection."""
        settings = self.settings(connection.statement_timeout_s or self._statement_timeout_s)
        connection.execute(for_transaction(settings).encode())

    def check_direct(self) -> None:
        """Raise `UsageError` when the direct URL leads to another database."""
        with self.outage_named():
            self.endpoint.check_direct()

    def left_with_idle(self, query: bytes) -> bool:
        """Send a statement on a connection that lies idle, and wait for neither.

        False when none lies idle, or the one that does is lost.
        """
        if self._opened_in != this_process():
            return False
        try:
            self._places.get_nowait()
        except Empty:
            return False
        connection = self._idle_one()
        try:
            if connection is None or not connection.collected():
                return False
            connection.leave(query)
            self._idle[connection.statement_timeout_s].append(connection)
        except psycopg.Error:
            if connection is not None:
                connection.close()
            return False
        finally:
            self._places.put(None)
        return True

    @contextmanager
    def borrowed(self) -> Iterator[BoundedConnection]:
        """Lend a connection for the length of a block, as `lent_to` does."""
        connection = self._lend()
        try:
            yield connection
        except BaseException as error:
            self._take_back(connection, error)
            raise
        self._keep(connection)

    def _lend(self) -> BoundedConnection:
        """Return a connection, which `_keep` or `_take_back` must see again."""
        if self._opened_in != this_process():
            self._refuse_fork()
        try:
            self._places.get(timeout=LEND_TIMEOUT_S)
        except Empty:
            raise StoreUnavailable(self.location, reason="all its connections are in use") from None
        try:
            seconds = longest_read_s() or self._statement_timeout_s
            connection = self._idle_one(bound_s=seconds)
            if connection is None or not connection.collected():
                connection = self.connect()
        except BaseException:
            self._places.put(None)
            raise
        if connection.statement_timeout_s != seconds:
            try:
                self._bound(connection, seconds)
            except BaseException as error:
                self._take_back(connection, error)
                raise
        return connection

    def _bound(self, connection: BoundedConnection, seconds: float) -> None:
        if not connection.pooled:
            connection.execute(
                "select set_config('statement_timeout', %s, false)",
                [f"{max(int(seconds * 1000), 1)}"],
            )
        connection.statement_timeout_s = seconds

    def _keep(self, connection: BoundedConnection) -> None:
        """Keep a connection for the next use, unless a transaction was left open on it."""
        try:
            idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
            if not idle and not connection.answer_left:
                connection.close()
                return
            self._idle[connection.statement_timeout_s].append(connection)
            if self._opened_in is None:
                self.close_idle()  # it was lent when the others were closed
        finally:
            self._places.put(None)

    def _take_back(self, connection: BoundedConnection, error: BaseException) -> None:
        """Take a connection back from what failed, and raise what that means to callers."""
        if isinstance(error, psycopg.Error) and not isinstance(error, RETRIED_AT_ONCE):
            # A link that died takes its idle neighbours with it, as after a restart.
            try:
                connection.close()
                self.close_idle()
            finally:
                self._places.put(None)
        else:
            self._keep(connection)
        self._raise_named(error)

    def _idle_one(self, *, bound_s: float | None = None) -> BoundedConnection | None:
        """Return one that nobody uses, rather one whose statements are bounded like that."""
        try:
            return self._idle[bound_s].pop()
        except IndexError:
            pass
        for kept in self._idle.copy().values():
            with suppress(IndexError):
                return kept.pop()
        return None

    def close_idle(self) -> None:
        """Close the connections that nobody uses at the moment."""
        while (connection := self._idle_one()) is not None:
            connection.close()

    @contextmanager
    def outage_named(self) -> Iterator[None]:
        """Turn what means "the database cannot be reached now" into `StoreUnavailable`."""
        try:
            yield
        except psycopg.Error as error:
            self._raise_named(error)
            raise

    def _raise_named(self, error: BaseException) -> None:
        """Raise what an error of the driver means to callers, where it means something else."""
        if isinstance(error, RETRIED_AT_ONCE):
            return
        limit_s = longest_read_s()
        if limit_s is not None and isinstance(error, pg_errors.QueryCanceled):
            raise ReadTooSlow(limit_s=limit_s) from error
        if isinstance(error, _OUTAGES):
            raise StoreUnavailable(self.location, reason=first_line(error)) from error
        # A caller's transaction may miss a table of its own: that is his to hear, as it is.
        if isinstance(error, _NO_SCHEMA) and '"holdfast' in str(error):
            raise SchemaMissing(self.location) from error

    def close(self) -> None:
        """Close what is open; what is lent is closed as it comes back."""
        if self._opened_in == this_process():
            self._opened_in = None
            self.close_idle()

    def _refuse_fork(self) -> None:
        process = this_process()
        if self._opened_in is None:
            self._opened_in = process
        if process != self._opened_in:
            raise ForkedProcess(opened_in=self._opened_in, used_in=process)
