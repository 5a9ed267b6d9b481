"""A RabbitMQ broker of one's own, for tests, benchmarks and demos.

    with PrivateRabbitmq() as broker:
        connection = await aio_pika.connect(broker.url)
        ...
        broker.kill()
        broker.start()

The broker listens on loopback only, keeps its files in a fresh temporary directory, and asks for a
password made for it. It ends with the block, and also when the process that started it is killed.
A broker of the machine's own is not touched.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.management import Management
from holdfast.testing.rabbitmq.node import RabbitmqNode
from holdfast.testing.servers.ports import LOOPBACK
from holdfast.testing.servers.private_server import PrivateServer

URL_VARIABLE = "HOLDFAST_TEST_AMQP_URL"

START_LIMIT_S = 150.0
_STOP_LIMIT_S = 30.0
_POLL_S = 0.05
_ANSWER_LIMIT_S = 5.0
_SHOWN_OUTPUT_LENGTH = 2000
_GREETING = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME = b"\x01"
_DEFAULT_PORT = 5672
_USER = "holdfast"
_MEMORY_BYTES = 1024**3

_SETTINGS: Mapping[str, object] = {
    "loopback_users": "none",
    "disk_free_limit.absolute": "50MB",
    "vm_memory_high_watermark.absolute": _MEMORY_BYTES,
}


class PrivateRabbitmq(PrivateServer):
    """A broker that this process starts, hurts, restarts and stops at will.

    `settings` are lines of its configuration file, such as `{"consumer_timeout": 5000}`, and
    `variables` those of its application that the file has no name for. One that is `managed` has
    its management plugin on, where it was installed with it.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, object] | None = None,
        variables: Mapping[str, int] | None = None,
        managed: bool = False,
        binaries: Path | None = None,
    ) -> None:
        self._password = secrets.token_hex(16)
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._server: subprocess.Popen[bytes] | None = None
        self._node = RabbitmqNode(
            user=_USER,
            password=self._password,
            settings={**_SETTINGS, **(settings or {})},
            variables=variables or {},
            managed=managed,
            binaries=binaries,
        )

    @property
    def url(self) -> str:
        """The URL of the broker's first virtual host."""
        return f"amqp://{_USER}:{self._password}@{LOOPBACK}:{self.port}/"

    @property
    def port(self) -> int:
        """The loopback port; it stays the same over restarts."""
        return self._node.port

    @property
    def pid(self) -> int | None:
        """The id of the broker's process, or None while it is down."""
        server = self._server
        return self._node.pid if server is not None and server.poll() is None else None

    @property
    def log(self) -> str:
        """What the broker printed and logged so far."""
        return self._node.output

    def launch(self) -> None:
        """Starts the broker without waiting for it; `wait_until_ready` does."""
        with self._lock:
            if self._server is None or self._server.poll() is not None:
                self._server = self._node.launch()

    def start(self) -> None:
        """Starts the broker and returns when it takes connections; nothing if it runs."""
        with self._lock:
            self.launch()
            server = self._server
            if server is None:
                raise AssertionError("just launched")
            try:
                wait_until_ready(self.url, given_up=lambda: server.poll() is not None)
            except UnavailableError as error:
                raise UnavailableError(f"{error}: {_complaint(self.log)}") from None

    def stop(self) -> None:
        """Stops the broker in order; nothing if it is down."""
        with self._lock:
            server = self._server
            if server is None or server.poll() is not None:
                return
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def settle(self) -> None:
        """Puts the names of new queues on the broker's disk, which it does each half second.

        RabbitMQ 3.10 never finds the leader of a quorum queue again that was announced to it too
        shortly before it was killed.
        """
        self._node.control("eval", "[dets:sync(Table) || Table <- dets:all()].")

    def kill(self) -> None:
        """Ends the broker as `kill -9` does; messages that it confirmed are on its disk.

        Call `settle` before it once the queues are declared.
        """
        with self._lock:
            server = self._server
            if server is None or server.poll() is not None:
                return
            pid = self._node.pid
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            else:
                os.killpg(server.pid, signal.SIGKILL)
            server.wait(_STOP_LIMIT_S)

    def restart(self) -> None:
        """Stops and starts the broker, on the same port with the same data."""
        with self._lock:
            self.stop()
            self.start()

    def set_memory_high_watermark(self, size_bytes: int) -> None:
        """Has the broker block all publishers while it uses more memory than that."""
        self._node.control("set_vm_memory_high_watermark", "absolute", str(size_bytes))

    def block(self) -> None:
        """Blocks all publishers, by a memory limit that the broker is past already."""
        self.set_memory_high_watermark(1)

    def unblock(self) -> None:
        """Lets publishers go on."""
        self.set_memory_high_watermark(_MEMORY_BYTES)

    @property
    def management(self) -> Management | None:
        """Its management API, if it has one."""
        port = self._node.management_port
        return None if port is None else Management(port, user=_USER, password=self._password)

    def consumers(self, queue: str | None = None) -> list[dict[str, Any]]:
        """Who consumes, by the broker's own account: `queue_name`, `consumer_tag` and more.

        A broker with a management API is asked through that.
        """
        management = self.management
        if management is not None:
            listed = management.consumers()
        else:
            listed = json.loads(self._node.control("list_consumers", "--formatter", "json"))
        return [line for line in listed if queue in (None, line["queue_name"])]

    def depth(self, queue: str) -> int | None:
        """How many messages a queue holds, those with consumers too; None without the queue."""
        text = self._node.control("list_queues", "name", "messages", "--formatter", "json")
        return {line["name"]: int(line["messages"]) for line in json.loads(text)}.get(queue)

    def close(self) -> None:
        """Ends the broker for good and removes its files; in a forked child, nothing."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self.kill()
            self._node.remove()


def wait_until_ready(
    url: str, *, given_up: Callable[[], bool] = lambda: False, limit_s: float = START_LIMIT_S
) -> None:
    """Return when the broker of `url` greets who connects."""
    give_up_at = time.monotonic() + limit_s
    while not _greets(url):
        if given_up():
            raise UnavailableError("RabbitMQ did not start")
        if time.monotonic() > give_up_at:
            raise UnavailableError(f"RabbitMQ was not ready within {limit_s:.0f} s")
        time.sleep(_POLL_S)


@contextmanager
def rabbitmq_for_tests() -> Iterator[str]:
    """The URL of a broker where queues may be declared.

    It is the one in `HOLDFAST_TEST_AMQP_URL`, which is left running, or a `PrivateRabbitmq` for the
    length of the block.
    """
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
        return
    with PrivateRabbitmq() as broker:
        yield broker.url


def _complaint(log: str) -> str:
    """Return the first errors in a log, which tell more than the many that follow from them."""
    start = log.find("[error]")
    return log[start : start + _SHOWN_OUTPUT_LENGTH] if start >= 0 else log[-_SHOWN_OUTPUT_LENGTH:]


def _greets(url: str) -> bool:
    """Return whether the broker answers the first word of the protocol as one that works does."""
    parts = urlsplit(url)
    address = (parts.hostname or LOOPBACK, parts.port or _DEFAULT_PORT)
    try:
        with socket.create_connection(address, timeout=_ANSWER_LIMIT_S) as connection:
            connection.sendall(_GREETING)
            return connection.recv(1) == _METHOD_FRAME
    except OSError:
        return False
