"""Relay processes that a test starts and kills, and the broker's own account of what they did."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from holdfast import Holdfast
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue, dead_exchange
from tests.bridges.broker import delete, drained, own
from tests.crash.fleet import REPOSITORY, environment_of, eventually
from tests.warm.process import WarmProcess

BATCH_SIZE = 5
SHORT = {
    "HOLDFAST_OUTBOX_LEASE": "2",
    "HOLDFAST_OUTBOX_PUBLISH_TIMEOUT": "1",
    "OUTBOX_POLL_INTERVAL_MS": "200",
    "OUTBOX_BATCH_SIZE": str(BATCH_SIZE),
}
ROOT = Path(__file__).parents[2]


class RelayProcess:
    """`holdfast relay` in a process of its own."""

    def __init__(self, url: str, *, broker_url: str, exchange: str, log: Path, failpoints: str):
        with log.open("wb") as output:
            self._process = WarmProcess(
                [
                    *(sys.executable, "-m", "holdfast", "relay", "--database-url", url),
                    *("--exchange", exchange, "--log-format", "json"),
                ],
                cwd=REPOSITORY,
                env={
                    **environment_of(),
                    **SHORT,
                    "HOLDFAST_BROKER_URL": broker_url,
                    "HOLDFAST_FAILPOINTS": failpoints,
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.log = log

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ended(self, *, within_s: float = 30.0) -> int:
        """Wait for the end and return the exit status, negative for a signal."""
        return self._process.wait(within_s)

    def kill(self) -> None:
        # Not by its number alone, which another process may have by now.
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        if self.is_alive:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


class Relays:
    """The relays of one test, the database they share and the queue they fill."""

    def __init__(self, url: str, *, broker_url: str, folder: Path) -> None:
        self.url = url
        self.broker_url = broker_url
        self.exchange = own("exchange")
        self.queue = Queue(name=own("queue"), types=("#",))
        self.app = Holdfast(url)
        self.started: list[RelayProcess] = []
        self._folder = folder
        transport = RabbitMq(broker_url, exchange=self.exchange, queues=[self.queue])
        assert transport.ready() is None
        transport.close()

    def start(self, *, failpoints: str = "") -> RelayProcess:
        relay = RelayProcess(
            self.url,
            broker_url=self.broker_url,
            exchange=self.exchange,
            log=self._folder / f"relay-{len(self.started) + 1}.log",
            failpoints=failpoints,
        )
        self.started.append(relay)
        return relay

    def publish(self, count: int, *, aggregates: int = 4) -> list[str]:
        self.app.store.read_clock()
        return [
            self.app.publish("note", number, aggregate_id=f"a-{number % aggregates}")
            for number in range(count)
        ]

    def all_published(self, *, within_s: float = 60.0) -> None:
        eventually(
            lambda: self.app.outbox.standing().pending == 0,
            what="everything is published",
            within_s=within_s,
        )

    def received(self) -> list[tuple[str, str, str]]:
        """What the broker has, in its order: id, aggregate and sequence."""
        return [
            (
                str(message.message_id),
                str(message.headers["cloudEvents:subject"]),
                str(message.headers["cloudEvents:sequence"]),
            )
            for message in drained(self.broker_url, self.queue.name)
        ]

    def story(self) -> str:
        """Everything the relays said, for a failing test."""
        return "\n".join(relay.log.read_text("utf-8", "replace") for relay in self.started)

    def end(self) -> None:
        for relay in self.started:
            relay.end()
        self.app.close()
        delete(
            self.broker_url,
            queues=(self.queue.name, self.queue.dead_queue),
            exchanges=(self.exchange, dead_exchange(self.exchange)),
        )


def assert_in_order(received: Iterable[tuple[str, str, str]]) -> None:
    """The messages of each aggregate came in order, those that came again aside."""
    latest: dict[str, str] = {}
    seen: set[str] = set()
    for message_id, aggregate, sequence in received:
        if message_id in seen:
            continue
        seen.add(message_id)
        assert sequence > latest.get(aggregate, ""), f"{message_id} of {aggregate} came too late"
        latest[aggregate] = sequence
