"""Connections to PostgreSQL: opened late, guarded against forks, named when they fail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import errors as pg_errors
from psycopg.pq import TransactionStatus

from holdfast.errors import ForkedProcess, ReadTooSlow, StoreUnavailable, UsageError
from holdfast.store.patience import longest_read_s
from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.processes import this_process

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_T = TypeVar("_T")

CONNECT_TIMEOUT_S: Final = 5
STATEMENT_TIMEOUT_S: Final = 30.0
SILENCE_S: Final = 2.0
"""How much longer than a statement may take the server's silence is borne."""
LOCK_TIMEOUT_MS: Final = 2_000
LEND_TIMEOUT_S: Final = 10.0

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
_PLANNED_ONCE: Final = (
    " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off"
    " -c enable_hashjoin=off -c enable_mergejoin=off"
)

RETRIED_AT_ONCE: Final = (pg_errors.SerializationFailure, pg_errors.DeadlockDetected)
"""Whole transactions that PostgreSQL rolled back and that may be run again unchanged."""

_OUTAGES: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    pg_errors.ReadOnlySqlTransaction,
    pg_errors.InternalError_,
)
_NO_SCHEMA: Final = (pg_errors.UndefinedTable, pg_errors.InvalidSchemaName)


def without_credentials(url: str) -> str:
    """Return the URL as it may be shown: no user, no password, no options."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


class Connections:
    """The connections of one store: opened when used, kept for the next use, the last one first.

    At most `size` are lent at a time. Nothing is used in another process than the one that
    opened it.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        size: int,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
        generic_plans: bool = False,
    ) -> None:
        self.location = without_credentials(url)
        self.url = url
        self._name = name
        self._statement_timeout_s = statement_timeout_s
        self._planning = _PLANNED_ONCE if generic_plans else ""
        self._opened_in: int | None = None
        self._places: SimpleQueue[None] = SimpleQueue()
        for _ in range(size):
            self._places.put(None)
        # By how long their statements may take: to bound one anew takes a question of its own,
        # which reads and writes in turn would ask nearly every time.
        self._idle = defaultdict[float | None, list[BoundedConnection]](list)

    def connect(self) -> BoundedConnection:
        """Open a connection in autocommit; the caller closes it."""
        self._refuse_fork()
        with self.outage_named():
            connection = BoundedConnection.connect(self.url, autocommit=True, **self._options())
        connection.answer_timeout_s = self._statement_timeout_s + SILENCE_S
        connection.statement_timeout_s = self._statement_timeout_s
        return connection

    def lent_to(self, operation: Callable[[BoundedConnection], _T]) -> _T:
        """Return what `operation` makes of a connection in autocommit, which is lent to it.

        One that failed is not lent again.
        """
        connection = self._lend()
        try:
            result = operation(connection)
        except BaseException as error:
            self._take_back(connection, error)
            raise
        self._keep(connection)
        return result

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
            connection = self._idle_one(bound_s=seconds) or self.connect()
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
        connection.execute(
            "select set_config('statement_timeout', %s, false)", [f"{max(int(seconds * 1000), 1)}"]
        )
        connection.statement_timeout_s = seconds

    def _keep(self, connection: BoundedConnection) -> None:
        """Keep a connection for the next use, unless a transaction was left open on it."""
        try:
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
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
            raise StoreUnavailable(self.location, reason=_reason(error)) from error
        # A caller's transaction may miss a table of its own: that is his to hear, as it is.
        if isinstance(error, _NO_SCHEMA) and '"holdfast' in str(error):
            raise UsageError(
                f"{self.location} has no holdfast schema; run: holdfast migrate"
            ) from error

    def close(self) -> None:
        """Close what is open; what is lent is closed as it comes back."""
        if self._opened_in == this_process():
            self._opened_in = None
            self.close_idle()

    def _options(self) -> dict[str, Any]:
        return {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": f"holdfast {self._name}",
            "options": (
                f"-c statement_timeout={int(self._statement_timeout_s * 1000)}"
                f" -c lock_timeout={LOCK_TIMEOUT_MS}"
                " -c idle_in_transaction_session_timeout=60000 -c jit=off"
                f"{self._planning}"
            ),
            **_KEEPALIVE,
        }

    def _refuse_fork(self) -> None:
        process = this_process()
        if self._opened_in is None:
            self._opened_in = process
        if process != self._opened_in:
            raise ForkedProcess(opened_in=self._opened_in, used_in=process)


def _reason(error: BaseException) -> str:
    """Return the first line of what the driver says, which holds no password."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
