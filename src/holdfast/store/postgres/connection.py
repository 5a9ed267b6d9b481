"""Connections to PostgreSQL: opened late, guarded against forks, named when they fail."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import errors as pg_errors
from psycopg_pool import ConnectionPool, PoolTimeout

from holdfast.errors import ForkedProcess, StoreUnavailable, UsageError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

CONNECT_TIMEOUT_S: Final = 5
STATEMENT_TIMEOUT_MS: Final = 30_000
LOCK_TIMEOUT_MS: Final = 2_000
POOL_TIMEOUT_S: Final = 10.0

# A dead peer is noticed in about this time even when nothing answers: idle + interval * count,
# and TCP_USER_TIMEOUT for data that was sent and never acknowledged.
_KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}

RETRIED_AT_ONCE: Final = (pg_errors.SerializationFailure, pg_errors.DeadlockDetected)
"""Whole transactions that PostgreSQL rolled back and that may be run again unchanged."""

_OUTAGES: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    pg_errors.ReadOnlySqlTransaction,
    pg_errors.InternalError_,
    PoolTimeout,
)


def without_credentials(url: str) -> str:
    """Return the URL as it may be shown: no user, no password, no options."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


class Connections:
    """How a store gets at its database: a pool, or one connection that nobody else can take.

    Nothing is opened before it is used, and nothing is used in another process than this one.
    """

    def __init__(self, url: str, *, name: str, size: int) -> None:
        self.location = without_credentials(url)
        self.url = url
        self._name = name
        self._size = size
        self._opened_in: int | None = None
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Connection] | None = None
        self._single: Connection | None = None

    def connect(self) -> Connection:
        """Open a connection outside the pool, in autocommit; the caller closes it."""
        self._refuse_fork()
        with self.outage_named():
            return psycopg.connect(self.url, autocommit=True, **self._options())

    @contextmanager
    def borrowed(self) -> Iterator[Connection]:
        """Lend a connection in autocommit; one that broke is replaced, not handed out again."""
        self._refuse_fork()
        if self._size > 1:
            with self.outage_named(), self._open_pool().connection() as connection:
                yield connection
            return
        with self.outage_named(), self._lock:
            if self._single is None or self._single.closed:
                self._single = self.connect()
            try:
                yield self._single
            except psycopg.Error:
                # The link may be gone without libpq knowing; a fresh one costs little.
                if not isinstance(sys.exc_info()[1], RETRIED_AT_ONCE):
                    self._single.close()
                raise

    @contextmanager
    def outage_named(self) -> Iterator[None]:
        """Turn what means "the database cannot be reached now" into `StoreUnavailable`."""
        try:
            yield
        except RETRIED_AT_ONCE:
            raise
        except _OUTAGES as error:
            raise StoreUnavailable(self.location, reason=_reason(error)) from error
        except (pg_errors.UndefinedTable, pg_errors.InvalidSchemaName) as error:
            raise UsageError(
                f"{self.location} has no holdfast schema; run: holdfast migrate"
            ) from error

    def close(self) -> None:
        """Close what is open."""
        if self._opened_in != os.getpid():
            return
        self._opened_in = None
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=2)
        single, self._single = self._single, None
        if single is not None:
            single.close()

    def _open_pool(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.url,
                    min_size=0,
                    max_size=self._size,
                    open=True,
                    name=self._name,
                    timeout=POOL_TIMEOUT_S,
                    reconnect_timeout=POOL_TIMEOUT_S,
                    kwargs={"autocommit": True, **self._options()},
                )
            return self._pool

    def _options(self) -> dict[str, Any]:
        return {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": f"holdfast {self._name}",
            "options": (
                f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS}"
                " -c idle_in_transaction_session_timeout=60000 -c jit=off"
            ),
            **_KEEPALIVE,
        }

    def _refuse_fork(self) -> None:
        if self._opened_in is None:
            self._opened_in = os.getpid()
        if os.getpid() != self._opened_in:
            raise ForkedProcess(opened_in=self._opened_in, used_in=os.getpid())


def _reason(error: BaseException) -> str:
    """Return the first line of what the driver says, which holds no password."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
