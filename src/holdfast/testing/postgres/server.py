"""A PostgreSQL server of one's own, for tests, benchmarks and demos.

    with PrivatePostgres() as server:
        with psycopg.connect(server.url) as connection:
            ...
        server.restart("immediate")

The server listens on loopback only, keeps its files in a fresh temporary directory, and asks for a
password made for it. It ends with the block, and also when the process that started it is killed.
"""

import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psycopg

from holdfast.errors import UnavailableError, UsageError
from holdfast.testing.postgres.cluster import PostgresCluster, Setting
from holdfast.testing.postgres.databases import CopyStrategy, create_database
from holdfast.testing.servers.ports import LOOPBACK, free_port
from holdfast.testing.servers.private_server import PrivateServer

URL_VARIABLE = "HOLDFAST_TEST_POSTGRES_URL"

StopMode = Literal["fast", "immediate"]

_STOP_SIGNALS: Mapping[StopMode, signal.Signals] = {
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
_START_LIMIT_S = 20.0
_STOP_LIMIT_S = 20.0
_POLL_S = 0.01
_STATUS_LINE = 7
_SHOWN_LOG_LENGTH = 2000

_COMMON_SETTINGS: Mapping[str, Setting] = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": 400,
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# What was committed must survive `immediate`, so commits still reach the operating system:
# only what guards against a power cut is given up.
_UNSAFE_SETTINGS: Mapping[str, Setting] = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": 0,
}


class PrivatePostgres(PrivateServer):
    """A PostgreSQL server that this process starts, restarts and stops at will.

    `durable` keeps the settings that let commits survive a power cut: tests do without, benchmarks
    should not. `settings` are server settings. `binaries` is the directory with `initdb` and
    `postgres`; `postgres_binaries.find_binaries` finds one if it is not given.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        settings: Mapping[str, Setting] | None = None,
        binaries: Path | None = None,
    ) -> None:
        self._settings: dict[str, Setting] = {
            **_COMMON_SETTINGS,
            **({} if durable else _UNSAFE_SETTINGS),
            **(settings or {}),
        }
        self._binaries = binaries
        self._password = secrets.token_hex(16)
        self._port = free_port()
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._cluster: PostgresCluster | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the server's `postgres` database, with a superuser's rights."""
        return f"postgresql://postgres:{self._password}@{LOOPBACK}:{self._port}/postgres"

    @property
    def port(self) -> int:
        """The loopback port; it stays the same over restarts."""
        return self._port

    @property
    def pid(self) -> int | None:
        """The id of the server's first process, or None while it is down."""
        server = self._server
        return server.pid if server is not None and server.poll() is None else None

    @property
    def log(self) -> str:
        """What the server printed so far."""
        if self._cluster is None or not self._cluster.log.exists():
            return ""
        return self._cluster.log.read_text(encoding="utf-8", errors="replace")

    @property
    def copy_strategy(self) -> CopyStrategy:
        """The quicker way to copy a database on this server."""
        return "file_copy" if self._settings.get("fsync") == "off" else "wal_log"

    def start(self) -> None:
        """Starts the server and returns when it takes connections; nothing if it runs."""
        with self._lock:
            if self.pid is not None:
                return
            if self._cluster is None:
                self._cluster = PostgresCluster(password=self._password, binaries=self._binaries)
            self._cluster.write_settings(self._settings)
            self._server = self._cluster.launch(port=self._port)
            self._wait_until_ready(self._server, pid_file=self._cluster.data / "postmaster.pid")

    def stop(self, mode: StopMode = "fast") -> None:
        """Stops the server; nothing if it is down.

        `fast` ends the sessions in order, `immediate` as a crash would.
        """
        with self._lock:
            server, self._server = self._server, None
            if server is None or server.poll() is not None:
                return
            server.send_signal(_STOP_SIGNALS[mode])
            try:
                server.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def restart(self, mode: StopMode = "fast") -> None:
        """Stops and starts the server, on the same port with the same data."""
        with self._lock:
            self.stop(mode)
            self.start()

    def set(self, **settings: Setting) -> None:
        """Changes server settings and reloads them; None takes one back to its default.

        New sessions have them when this returns, open ones at their next statement. Settings that
        only a start can change wait for `restart`.
        """
        with self._lock:
            wanted = {**self._settings, **settings}
            if self._cluster is not None and self._server is not None and self.pid is not None:
                self._cluster.write_settings(wanted)
                self._check_settings(self._cluster)
                self._reload(self._server)
            self._settings = wanted

    def create_database(self, name: str, template: str | None = None) -> str:
        """Creates the database `name`, a copy of `template` if one is given; its URL."""
        return create_database(self.url, name, template=template, strategy=self.copy_strategy)

    def close(self) -> None:
        """Stops the server for good and removes its files; in a forked child, nothing."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self.stop("immediate")
            cluster, self._cluster = self._cluster, None
            if cluster is not None:
                cluster.remove()

    def _wait_until_ready(self, server: subprocess.Popen[bytes], *, pid_file: Path) -> None:
        give_up_at = time.monotonic() + _START_LIMIT_S
        while not _says_ready(pid_file, pid=server.pid):
            if server.poll() is not None:
                log = self.log[-_SHOWN_LOG_LENGTH:]
                raise UnavailableError(f"PostgreSQL did not start on port {self._port}: {log}")
            if time.monotonic() > give_up_at:
                self.stop("immediate")
                raise UnavailableError(f"PostgreSQL was not ready within {_START_LIMIT_S:.0f} s")
            time.sleep(_POLL_S)

    def _check_settings(self, cluster: PostgresCluster) -> None:
        """Takes the settings file back when the server finds an error in it."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            refused = connection.execute(
                "select format('%s = %s: %s', f.name, f.setting, f.error)"
                " from pg_file_settings f left join pg_settings s using (name)"
                # That a start is needed is reported as an error too.
                " where f.error is not null and s.context is distinct from 'postmaster'"
            ).fetchall()
        if refused:
            cluster.write_settings(self._settings)
            raise UsageError(f"PostgreSQL refuses {'; '.join(row[0] for row in refused)}")

    def _reload(self, server: subprocess.Popen[bytes]) -> None:
        before = self._loaded_at()
        server.send_signal(signal.SIGHUP)
        give_up_at = time.monotonic() + _START_LIMIT_S
        while self._loaded_at() == before:
            if time.monotonic() > give_up_at:
                raise UnavailableError(f"PostgreSQL did not reload within {_START_LIMIT_S:.0f} s")
            time.sleep(_POLL_S)

    def _loaded_at(self) -> object:
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute("select pg_conf_load_time()").fetchone()
        return row[0] if row else None


@contextmanager
def postgres_for_tests(
    *, durable: bool = False, settings: Mapping[str, Setting] | None = None
) -> Iterator[str]:
    """The URL of a server where databases may be created.

    It is the one in `HOLDFAST_TEST_POSTGRES_URL`, which is left as it is, or a `PrivatePostgres`
    for the length of the block.
    """
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
        return
    with PrivatePostgres(durable=durable, settings=settings) as server:
        yield server.url


def _says_ready(pid_file: Path, *, pid: int) -> bool:
    """Return whether the server's own status file says that it takes connections."""
    try:
        lines = pid_file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    return (
        len(lines) > _STATUS_LINE
        and lines[0].strip() == str(pid)
        and lines[_STATUS_LINE].strip() == "ready"
    )
