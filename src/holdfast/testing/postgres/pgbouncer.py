"""A PgBouncer of one's own in front of a PostgreSQL server, for tests.

    with PrivatePgbouncer(server.url, pool_size=2) as pooler:
        with psycopg.connect(pooler.url_of(server.url)) as connection:
            ...

It listens on loopback only, keeps its files in a fresh temporary directory, and takes the user and
the password of the server's URL. It ends with the block, and also when the process that started it
is killed. One that runs on the machine already is not touched.
"""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from holdfast.errors import UnavailableError
from holdfast.testing.servers.debian_package import install, why_not_install
from holdfast.testing.servers.ports import LOOPBACK, free_port
from holdfast.testing.servers.private_server import PrivateServer
from holdfast.testing.servers.unprivileged import Account

PoolMode = Literal["transaction", "session"]

START_LIMIT_S = 20.0
_POLL_S = 0.01
_ADMIN = "pgbouncer"
_DEFAULT_PORT = 5432
_SHOWN_LOG_LENGTH = 2000
_PLACES = (Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/local/bin"), Path("/usr/bin"))

# $1 is the program and $2 the directory of its files. It reads until its starter closes the
# pipe, or dies.
_WATCHER = """
"$1" "$2/pgbouncer.ini" </dev/null >>"$2/log" 2>&1 &
pid=$!
read -r _
kill -KILL "$pid" 2>/dev/null
wait "$pid"
rm -rf -- "$2"
"""


def find_program(*, environment: Mapping[str, str] = os.environ) -> Path:
    """The program `pgbouncer`: installed on the machine, or as a last resort Debian's package."""
    found = _installed(environment)
    if found is not None:
        return found
    reason = why_not_install(environment)
    if reason is None:
        install("pgbouncer", environment=environment)
        found = _installed(environment)
        if found is not None:
            return found
        reason = "Debian's package has another program than expected"
    raise UnavailableError(f"no PgBouncer to test with: none is installed; {reason}")


class PrivatePgbouncer(PrivateServer):
    """A pooler that this process starts, restarts and stops at will.

    Of each database it lends `pool_size` connections of the server. `settings` are lines of its
    configuration file, such as `{"ignore_startup_parameters": "options"}`.
    """

    def __init__(
        self,
        server_url: str,
        *,
        pool_mode: PoolMode = "transaction",
        pool_size: int = 3,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self._program = find_program()
        self._server = urlsplit(server_url)
        self._settings: dict[str, object] = {
            "pool_mode": pool_mode,
            "default_pool_size": pool_size,
            "max_client_conn": 500,
            "query_wait_timeout": 60,
            **(settings or {}),
        }
        self._port = free_port()
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._watcher: subprocess.Popen[bytes] | None = None
        self._root: Path | None = None

    @property
    def port(self) -> int:
        """The loopback port; it stays the same over restarts."""
        return self._port

    def url_of(self, url: str) -> str:
        """Return the URL by which a database of the server is reached through the pooler."""
        credentials, _, _ = urlsplit(url).netloc.rpartition("@")
        return urlunsplit(urlsplit(url)._replace(netloc=f"{credentials}@{LOOPBACK}:{self._port}"))

    @property
    def log(self) -> str:
        """What it has printed since it was started."""
        if self._root is None:
            return ""
        return (self._root / "log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> None:
        """Starts the pooler and returns when it takes connections; nothing if it runs."""
        with self._lock:
            if self._watcher is not None:
                return
            account = Account.for_servers()
            self._root = account.new_directory(prefix="holdfast-pgbouncer-")
            for name, text in self._files().items():
                path = self._root / name
                path.touch(mode=0o600)
                path.write_text(text, encoding="utf-8")
                account.take_over(path)
            self._watcher = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHER, "holdfast-pgbouncer", self._program, self._root],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                user=account.switch_user,
                group=account.switch_group,
                extra_groups=account.switch_extra_groups,
            )
            self._wait_until_ready()

    def stop(self) -> None:
        """Stops it at once; nothing if it is down."""
        with self._lock:
            watcher, self._watcher, self._root = self._watcher, None, None
            if watcher is not None and watcher.stdin is not None:
                watcher.stdin.close()
                watcher.wait()

    def restart(self) -> None:
        """Stops and starts it, on the same port."""
        with self._lock:
            self.stop()
            self.start()

    def close(self) -> None:
        """Stops it for good and removes its files; in a forked child, nothing."""
        if os.getpid() == self._owner:
            self.stop()

    def forget(self, url: str) -> None:
        """Ends every connection of a database, of clients and of the server."""
        name = sql.Identifier(unquote(urlsplit(url).path.lstrip("/")))
        admin = urlunsplit(self._server._replace(path=f"/{_ADMIN}"))
        with psycopg.connect(self.url_of(admin), autocommit=True) as connection:
            for command in (sql.SQL("kill {}"), sql.SQL("resume {}")):
                connection.execute(command.format(name).as_bytes(connection))

    def _files(self) -> dict[str, str]:
        server = self._server
        user, password = unquote(server.username or ""), unquote(server.password or "")
        lines = {
            "listen_addr": LOOPBACK,
            "listen_port": self._port,
            "unix_socket_dir": "",
            "auth_type": "md5",
            "auth_file": f"{self._root}/users",
            "admin_users": user,
            **self._settings,
        }
        target = f"* = host={server.hostname} port={server.port or _DEFAULT_PORT}"
        settings = "".join(f"{name} = {value}\n" for name, value in lines.items())
        return {
            "pgbouncer.ini": f"[databases]\n{target}\n\n[pgbouncer]\n{settings}",
            "users": '"{}" "{}"\n'.format(*(text.replace('"', '""') for text in (user, password))),
            "log": "",
        }

    def _wait_until_ready(self) -> None:
        give_up_at = time.monotonic() + START_LIMIT_S
        while not self._listens():
            if time.monotonic() > give_up_at or (
                self._watcher and self._watcher.poll() is not None
            ):
                log = self.log[-_SHOWN_LOG_LENGTH:]
                self.stop()
                raise UnavailableError(f"PgBouncer did not start on port {self._port}: {log}")
            time.sleep(_POLL_S)

    def _listens(self) -> bool:
        try:
            socket.create_connection((LOOPBACK, self._port), timeout=1).close()
        except OSError:
            return False
        return True


def _installed(environment: Mapping[str, str]) -> Path | None:
    on_path = shutil.which("pgbouncer", path=environment.get("PATH"))
    candidates = [place / "pgbouncer" for place in _PLACES]
    if on_path is not None:
        candidates.insert(0, Path(on_path))
    return next((path for path in candidates if os.access(path, os.X_OK)), None)
