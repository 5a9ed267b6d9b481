"""A broker that restarts again and again under relays and consumers in processes of their own."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from tests.crash.consumers import HANDLER, Consumers
from tests.crash.fleet import eventually
from tests.crash.relaying import RelayProcess
from tests.plugins.postgres import missing_server

SOAK_S = float(os.environ.get("SOAK_SECONDS", "60"))
"""For how long the slow one goes on; an hour is `SOAK_SECONDS=3600`."""
EVERY_S = 10.0
CONSUMERS = 3
UP_S = 120.0
BACK_S = 30.0

pytestmark = pytest.mark.timeout(SOAK_S * 2 + 300)


class Traffic:
    """Messages that are published all the time, in a thread of their own."""

    def __init__(self, consumers: Consumers) -> None:
        self.sent: list[str] = []
        self._consumers = consumers
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._publish)
        self._thread.start()

    def _publish(self) -> None:
        number = 0
        while not self._over.wait(0.1):
            app = self._consumers.app
            self.sent.append(app.publish("note", number, aggregate_id=f"a-{number % 4}"))
            number += 1

    def end(self) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture
def broker() -> Iterator[PrivateRabbitmq]:
    """One whose management API says who consumes, where it has one."""
    try:
        made = PrivateRabbitmq(managed=True)
    except UnavailableError as error:
        missing_server(str(error))
    with made:
        yield made


@pytest.fixture
def consumers(postgres_url: str, broker: PrivateRabbitmq, tmp_path: Path) -> Iterator[Consumers]:
    made = Consumers(postgres_url, broker_url=broker.url, folder=tmp_path, way=HANDLER)
    try:
        yield made
    finally:
        broker.start()
        made.end()


def attached(broker: PrivateRabbitmq, queue: str) -> int:
    """How many consumers a queue has, by the broker's own account; -1 while it cannot say."""
    try:
        return len(broker.consumers(queue))
    except UnavailableError:
        return -1


@pytest.mark.slow  # in every run: relays alone, and consumers alone
@pytest.mark.parametrize("soak_s", [0.0, SOAK_S])
def test_relays_and_consumers_come_back_by_themselves_each_time_the_broker_does(
    consumers: Consumers, broker: PrivateRabbitmq, tmp_path: Path, soak_s: float
):
    with ExitStack() as stack:
        relay = RelayProcess(
            consumers.url,
            broker_url=broker.url,
            exchange=consumers.exchange,
            log=tmp_path / "relay.log",
            failpoints="",
        )
        stack.callback(relay.end)
        started = [consumers.start() for _ in range(CONSUMERS)]
        for one in started:
            one.consuming()
        broker.settle()
        traffic = Traffic(consumers)
        stack.callback(traffic.end)
        ends_at_s = time.monotonic() + soak_s
        restarts = 0
        while restarts == 0 or time.monotonic() < ends_at_s:
            before = len(consumers.effects())
            eventually(
                lambda before=before: len(consumers.effects()) > before,
                what="messages arrive",
                within_s=60,
            )
            # The first is the harder one: the bounded run has no other.
            broker.kill() if restarts % 2 == 0 else broker.stop()
            broker.start()
            next_at_s = time.monotonic() + EVERY_S
            restarts += 1
            eventually(
                lambda: attached(broker, consumers.queue.name) >= 0,
                what="the broker can be asked",
                within_s=UP_S,
            )
            eventually(
                lambda: attached(broker, consumers.queue.name) == CONSUMERS,
                what=f"all consume again after restart {restarts}",
                within_s=BACK_S,
            )
            while time.monotonic() < min(next_at_s, ends_at_s):
                time.sleep(0.1)

        traffic.end()
        eventually(
            lambda: consumers.app.outbox.standing().pending == 0,
            what="everything is published",
            within_s=60,
        )
        eventually(
            lambda: len(consumers.effects()) >= len(traffic.sent),
            what="everything is handled",
            within_s=60,
        )

        assert Counter(consumers.effects()) == Counter(traffic.sent)
        assert relay.is_alive
        assert all(one.is_alive for one in started)
