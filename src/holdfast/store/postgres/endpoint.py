"""Where a database is reached: directly, or through a pooler that shares its connections.

A pooler in transaction mode lends a connection of the server to each transaction, until
that ends. So nothing of a session lasts: no setting, no prepared statement, no LISTEN and no
advisory lock. Its clients are given another process id than the server's own, by which it is
noticed, and most poolers refuse start-up options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg

from holdfast.errors import UsageError
from holdfast.store.postgres.bounded import BoundedConnection

Settings = Mapping[str, str | int]
"""Settings of a session, by PostgreSQL's names."""

_REFUSALS: Final = ("unsupported startup parameter", "command-line options")
"""What poolers say of start-up options: PgBouncer, and those of cloud providers."""
CONNECT_TIMEOUT_S: Final = 5
ANSWER_S: Final = 5.0
"""How long an answer may take until another limit is set."""
_LOOKS: Final = 4


def without_credentials(url: str) -> str:
    """Return the URL as it may be shown: no user, no password, no options."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


class Endpoint:
    """The URL of a database, and another that leads past a pooler, where there is one.

    Where both are the same, nothing in between is taken for a pooler.
    """

    def __init__(self, url: str, *, direct_url: str | None = None) -> None:
        self.url = url
        self.location = without_credentials(url)
        self.direct_url = direct_url
        self.direct_location = None if direct_url is None else without_credentials(direct_url)
        self.pooled: bool | None = None
        """Whether a pooler was seen when last connected; None before that."""
        self._refuses_options = False

    def connect(self, settings: Settings, **parameters: Any) -> BoundedConnection:  # noqa: ANN401
        """Open a connection in autocommit; `settings` hold in it unless it is `pooled`."""
        if self.direct_url == self.url:
            self.pooled = False
            return self._trusted(self.url, settings, parameters)
        connection = self._with_options(settings, parameters)
        if connection is None:
            connection = _opened(self.url, {}, parameters)
            connection.pooled = True
        self.pooled = connection.pooled
        if connection.pooled:
            connection.prepare_threshold = None
        return connection

    def connect_direct(self, settings: Settings, **parameters: Any) -> BoundedConnection:  # noqa: ANN401
        """Open a connection past a pooler where a URL is known for that, else like `connect`."""
        if self.direct_url is None:
            return self.connect(settings, **parameters)
        return self._trusted(self.direct_url, settings, parameters)

    def _with_options(
        self, settings: Settings, parameters: dict[str, Any]
    ) -> BoundedConnection | None:
        """Open a connection with settings, or return None where they are refused."""
        if self._refuses_options:
            return None
        try:
            connection = _opened(self.url, settings, parameters)
        except psycopg.OperationalError as error:
            if not _refuses_options(error):
                raise
            self._refuses_options = True
            return None
        connection.pooled = _server_pid(connection) != connection.info.backend_pid
        return connection

    @staticmethod
    def _trusted(url: str, settings: Settings, parameters: dict[str, Any]) -> BoundedConnection:
        """Open a connection whose session is one, whatever is in between."""
        try:
            return _opened(url, settings, parameters)
        except psycopg.OperationalError as error:
            if not _refuses_options(error):
                raise
        connection = _opened(url, {}, parameters)
        connection.execute("; ".join(f"set {name} = {value}" for name, value in settings.items()))
        return connection

    def facts(self) -> dict[str, str]:
        """Return what `doctor` shows: which pooler mode was seen, and how workers are woken."""
        found: dict[str, str] = {}
        if self.pooled:
            found["pooler"] = "transaction" if shares_connections(self.url) else "session"
        found["wake_ups"] = "polling" if self.pooled and self.direct_url is None else "listening"
        if self.direct_url is not None and self.direct_location is not None:
            found["direct"] = self.direct_location
            found["direct_trouble"] = self._direct_trouble()
        return found

    def _direct_trouble(self) -> str:
        """Return what is wrong with the direct URL, or nothing."""
        try:
            self.check_direct()
            shared = self.direct_url is not None and shares_connections(self.direct_url)
        except UsageError as error:
            return str(error)
        except psycopg.Error as error:
            return f"it cannot be reached: {first_line(error)}"
        return "it leads to a pooler in transaction mode" if shared else ""

    def check_direct(self) -> None:
        """Raise `UsageError` when the direct URL leads to another database."""
        if self.direct_url is None or self.direct_url == self.url:
            return
        with self.connect({}) as connection, self.connect_direct({}) as direct:
            if _identity(connection) != _identity(direct):
                raise UsageError(
                    f"the direct URL {self.direct_location} leads to another database than "
                    f"{self.location}; it has to be the same one, past the pooler"
                )


def for_transaction(settings: Settings) -> str:
    """Return the statements by which settings hold until the transaction ends."""
    return "; ".join(f"set local {name} = {value}" for name, value in settings.items())


def shares_connections(url: str) -> bool:
    """Return whether two clients at a time were seen to use one connection of the server.

    A pooler in session mode never has them do so; one in transaction mode does nearly always, and
    is not found out only while others keep it busy.
    """
    with _opened(url, {}, {}) as one, _opened(url, {}, {}) as other:
        one.prepare_threshold = other.prepare_threshold = None
        seen = [(_server_pid(one), _server_pid(other)) for _ in range(_LOOKS)]
    ones, others = ({pids[side] for pids in seen} for side in (0, 1))
    return len(ones) > 1 or len(others) > 1 or not ones.isdisjoint(others)


def _opened(url: str, settings: Settings, parameters: dict[str, Any]) -> BoundedConnection:
    # Given even when empty: else those of the environment or the URL would be sent.
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    given = {"connect_timeout": CONNECT_TIMEOUT_S, **parameters, "options": options}
    connection = BoundedConnection.connect(url, autocommit=True, **given)
    connection.answer_timeout_s = ANSWER_S
    return connection


def _refuses_options(error: psycopg.OperationalError) -> bool:
    if not any(refusal in str(error) for refusal in _REFUSALS):
        return False
    # The driver's frame holds the error and would be held by it, with all that called it.
    error.with_traceback(None)
    return True


def _server_pid(connection: BoundedConnection) -> int:
    try:
        [(pid,)] = connection.execute("select pg_backend_pid()")
    except BaseException:
        connection.close()
        raise
    return int(pid)


def _identity(connection: BoundedConnection) -> object:
    return connection.execute("select current_database(), pg_postmaster_start_time()").fetchone()


def first_line(error: BaseException) -> str:
    """Return the first line of what the driver says, which holds no password."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
