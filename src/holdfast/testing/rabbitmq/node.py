"""The files and processes of a RabbitMQ node of one's own: data, cookie, settings, name service."""

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.binaries import find_binaries
from holdfast.testing.rabbitmq.home import make_home
from holdfast.testing.rabbitmq.management import PLUGIN, comes_with
from holdfast.testing.servers.ports import LOOPBACK, free_port
from holdfast.testing.servers.unprivileged import Account

_SHOWN_OUTPUT_LENGTH = 2000
_TOOL_LIMIT_S = 120.0
_STATISTICS_EVERY_MS = 1_000

# $1 is the node's directory, which is the home of all its processes and of no other: the virtual
# machine, the name service that it starts, and the tools that talk to it.
_WATCHER = """
at_home() { grep -lzxF -- "HOME=$1" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\\n'; }
read -r _
while pids=$(at_home "$1"); [ -n "$pids" ]; do
    kill -KILL $pids
    sleep 0.05
done
rm -rf -- "$1"
"""


class RabbitmqNode:
    """A node in a fresh temporary directory, removed by `remove` or when its creator dies.

    It shares nothing with a broker of the machine: not the ports, not the cookie, not the service
    by which Erlang nodes find each other. A small watcher holds a pipe to the process that created
    the node; at its end of file it ends what is left and removes the directory.
    """

    def __init__(
        self,
        *,
        user: str,
        password: str,
        settings: Mapping[str, object],
        variables: Mapping[str, int],
        managed: bool = False,
        binaries: Path | None = None,
    ) -> None:
        self._binaries = binaries or find_binaries()
        self._account = Account.for_servers("rabbitmq")
        self._root = self._account.new_directory(prefix="holdfast-rabbitmq-")
        self.port = free_port()
        is_managed = managed and comes_with(self._binaries)
        self.management_port = free_port() if is_managed else None
        self._environment = {
            **self._make_environment(variables),
            **make_home(
                self._root / "home",
                binaries=self._binaries,
                applications=("rabbit", PLUGIN) if is_managed else ("rabbit",),
                owner=self._account,
            ),
        }
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHER, "holdfast-rabbitmq-watcher", self._root],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            user=self._account.switch_user,
            group=self._account.switch_group,
            extra_groups=self._account.switch_extra_groups,
        )
        self._write("plugins", f"[{PLUGIN if is_managed else ''}].\n")
        self._write(".erlang.cookie", secrets.token_hex(16), mode=0o400)
        lines = {"default_user": user, "default_pass": password, **settings}
        if is_managed:
            lines |= {
                "management.tcp.ip": LOOPBACK,
                "management.tcp.port": self.management_port,
                "collect_statistics_interval": _STATISTICS_EVERY_MS,
            }
        text = "".join(f"{name} = {value}\n" for name, value in lines.items())
        self._write("rabbitmq.conf", text, mode=0o600)

    @property
    def output(self) -> str:
        """What the node printed and logged so far."""
        files = [self._root / "out", *sorted((self._root / "log").glob("*.log"))]
        return "".join(
            file.read_text(encoding="utf-8", errors="replace") for file in files if file.exists()
        )

    @property
    def pid(self) -> int | None:
        """The id of the virtual machine's process as it wrote it itself, or None before that."""
        try:
            return int((self._root / "pid").read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None

    def launch(self) -> subprocess.Popen[bytes]:
        """Return the process that runs the node, just started."""
        (self._root / "pid").unlink(missing_ok=True)
        with (self._root / "out").open("ab") as output:
            return subprocess.Popen(
                [self._binaries / "rabbitmq-server"],
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt at the terminal is not meant for it
                user=self._account.switch_user,
                group=self._account.switch_group,
                extra_groups=self._account.switch_extra_groups,
            )

    def control(self, *arguments: str) -> str:
        """What `rabbitmqctl` answers; it takes a second or two."""
        done = subprocess.run(
            [self._binaries / "rabbitmqctl", "-q", *arguments],
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TOOL_LIMIT_S,
            user=self._account.switch_user,
            group=self._account.switch_group,
            extra_groups=self._account.switch_extra_groups,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout)[-_SHOWN_OUTPUT_LENGTH:]
            raise UnavailableError(f"rabbitmqctl {arguments[0]} failed: {said}")
        return done.stdout

    def remove(self) -> None:
        """Ends what still runs and removes the directory."""
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()
        self._watcher.wait()

    def _write(self, name: str, text: str, *, mode: int = 0o644) -> None:
        path = self._root / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        self._account.take_over(path)

    def _make_environment(self, variables: Mapping[str, int]) -> dict[str, str]:
        root = self._root
        given = "".join(f" -rabbit {name} {value}" for name, value in variables.items())
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(root),
            "LC_ALL": "C.UTF-8",
            "RABBITMQ_NODENAME": f"holdfast{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "ERL_EPMD_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "RABBITMQ_MNESIA_BASE": str(root / "data"),
            "RABBITMQ_LOG_BASE": str(root / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(root / "plugins"),
            "RABBITMQ_PID_FILE": str(root / "pid"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_CONFIG_FILE": str(root / "rabbitmq"),
            # Dumps of a virtual machine that a test has killed are of no use to anybody.
            "ERL_CRASH_DUMP_BYTES": "0",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"+S 2:2{given}",
        }
