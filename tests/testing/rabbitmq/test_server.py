import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import aio_pika
import pytest

from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.binaries import find_binaries
from holdfast.testing.rabbitmq.management import comes_with
from holdfast.testing.rabbitmq.server import (
    URL_VARIABLE,
    PrivateRabbitmq,
    rabbitmq_for_tests,
    wait_until_ready,
)

pytestmark = pytest.mark.timeout(300)

MACHINES_OWN_PORT = 5672
BUSY_S = 120.0

_T = TypeVar("_T")

START_AND_WAIT = """
import sys
from holdfast.testing.rabbitmq.server import PrivateRabbitmq

broker = PrivateRabbitmq()
broker.launch()
while broker.pid is None:
    pass
print(broker.pid, broker._node._root, flush=True)
sys.stdin.read()
"""


def _is_alive(pid: int) -> bool:
    try:
        # A dead process that nobody waits for keeps its id, but has no command line.
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


def _processes_of(root: str) -> list[str]:
    """The processes that have `root` as their home."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOME={root}".encode() in environment.read_bytes().split(b"\0"):
                found.append(environment.parent.name)
        except OSError:
            continue
    return found


def _wait_for(condition, *, limit_s=60.0):
    give_up_at = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < give_up_at, "did not happen in time"
        time.sleep(0.01)


async def _kept(url: str, queue: str, *bodies: bytes) -> list[bytes]:
    """Sends bodies to a durable queue, and returns all that it holds."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        declared = await channel.declare_queue(
            queue, durable=True, arguments={"x-queue-type": "quorum"}
        )
        for body in bodies:
            message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
            await channel.default_exchange.publish(message, routing_key=queue)
        found = []
        while (message := await declared.get(fail=False)) is not None:
            found.append(message.body)  # not settled, so it is kept
        return found


async def _hold(message: aio_pika.abc.AbstractIncomingMessage) -> None:
    """Takes a message and does not settle it."""


def test_the_shared_broker_takes_messages(amqp_url):
    assert asyncio.run(_kept(amqp_url, "of-this-test", b"one")) == [b"one"]


def test_a_private_broker_is_not_the_machines_own(rabbitmq_server):
    assert rabbitmq_server.port != MACHINES_OWN_PORT
    assert f":{rabbitmq_server.port}/" in rabbitmq_server.url


@pytest.mark.slow
def test_what_was_confirmed_survives_kill_minus_nine(rabbitmq_server):
    assert asyncio.run(_kept(rabbitmq_server.url, "kept", b"one")) == [b"one"]
    rabbitmq_server.settle()
    before = rabbitmq_server.pid

    rabbitmq_server.kill()
    assert rabbitmq_server.pid is None
    with pytest.raises(UnavailableError, match="not ready within 0 s"):
        wait_until_ready(rabbitmq_server.url, limit_s=0.2)
    rabbitmq_server.start()

    assert rabbitmq_server.pid not in (before, None)
    assert asyncio.run(_kept(rabbitmq_server.url, "kept", b"two")) == [b"one", b"two"]


@pytest.mark.slow
def test_it_tells_who_consumes_and_what_is_kept(rabbitmq_server):
    async def publish() -> None:
        async with await aio_pika.connect(rabbitmq_server.url) as connection:
            channel = await connection.channel()
            await channel.declare_queue("watched")
            await channel.default_exchange.publish(aio_pika.Message(b"x"), routing_key="watched")

    async def consuming(ask: Callable[[], _T]) -> tuple[str, _T]:
        """What the broker says while somebody holds the message, and that consumer's tag."""
        async with await aio_pika.connect(rabbitmq_server.url) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue("watched")
            tag = await queue.consume(_hold)
            return tag, await asyncio.to_thread(ask)

    def names_the_consumer() -> bool:
        tag, said = asyncio.run(consuming(lambda: rabbitmq_server.consumers("watched")))
        return [line["consumer_tag"] for line in said] == [tag]

    asyncio.run(publish())

    # A broker that is slow to answer may take the message back before it does.
    _wait_for(names_the_consumer, limit_s=BUSY_S)
    _wait_for(
        lambda: asyncio.run(consuming(lambda: rabbitmq_server.depth("watched")))[1] == 1,
        limit_s=BUSY_S,
    )
    assert rabbitmq_server.consumers("nobody") == []
    assert rabbitmq_server.depth("nothing") is None


@pytest.mark.slow
def test_it_ends_with_the_process_that_started_it():
    process = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    pid, root = process.stdout.readline().split()
    assert _is_alive(int(pid))

    process.send_signal(signal.SIGKILL)
    process.wait()

    _wait_for(lambda: not _is_alive(int(pid)) and not Path(root).exists())
    assert _processes_of(root) == []
    process.stdin.close()
    process.stdout.close()


def test_nothing_of_a_closed_broker_is_left():
    broker = PrivateRabbitmq()
    broker.launch()
    _wait_for(lambda: broker.pid is not None)
    root = str(broker._node._root)
    assert _processes_of(root)

    broker.close()

    assert not Path(root).exists()
    assert _processes_of(root) == []


def test_a_broker_that_was_given_is_used_as_it_is(monkeypatch):
    monkeypatch.setenv(URL_VARIABLE, "amqp://elsewhere/")

    with rabbitmq_for_tests() as url:
        assert url == "amqp://elsewhere/"


@pytest.mark.slow
def test_a_broker_that_cannot_start_says_why():
    with pytest.raises(UnavailableError, match=r"(?s)did not start.*no_such_setting"):
        PrivateRabbitmq(settings={"no_such_setting": "at all"}).__enter__()


def test_an_installation_tells_whether_it_has_the_management_plugin(tmp_path):
    sbin, plugins, links = (tmp_path / name for name in ("lib/sbin", "lib/plugins", "bin"))
    for folder in (sbin, plugins, links):
        folder.mkdir(parents=True)
    (sbin / "rabbitmq-server").touch()
    (links / "rabbitmq-server").symlink_to(sbin / "rabbitmq-server")
    (plugins / "rabbitmq_management_agent-3.10.8").mkdir()
    assert not comes_with(links)

    (plugins / "rabbitmq_management-3.10.8").mkdir()

    assert comes_with(links)
    assert comes_with(sbin)


def test_without_programs_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr("holdfast.testing.rabbitmq.binaries._PLACES", ())

    with pytest.raises(UnavailableError, match=f"HOLDFAST_MAY_INSTALL=1.*{URL_VARIABLE}"):
        find_binaries(environment={})
    if os.geteuid() != 0:
        with pytest.raises(UnavailableError, match="takes root"):
            find_binaries(environment={"CI": "true"})
