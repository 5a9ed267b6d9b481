"""Consumer processes that a test starts and kills; run as a program, one of them."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.bridges.rabbitmq import Queue, RabbitMq
from holdfast.bridges.rabbitmq.topology import dead_exchange
from holdfast.config import logs
from holdfast.core.values.outbox import Confirmed, OutboxMessage
from holdfast.runtime.outbox.received import Received
from tests.bridges.broker import delete, on_channel, own
from tests.crash.fleet import PATIENCE_S, REPOSITORY, environment_of, eventually
from tests.warm.process import WarmProcess

HANDLER, PIPELINE, LETTER, STUCK, SUICIDE = "handler", "pipeline", "letter", "stuck", "suicide"
"""What consumers do with a message: note it, make a job of it, give it up, hang once, or die."""

DELIVERY_LIMIT = 30
"""High, so that no kill of a test's makes a dead letter."""

copy = Pipeline("copy")


@copy.stage
def only(job):
    return job.payload


def note(message: Received, connection) -> None:
    """Have an effect in the database."""
    connection.execute(f"insert into effect values ('{message.id}')")


def give_up(_message: Received, _connection) -> None:
    raise GiveUp("SCHEMA_INVALID", "no such course")


def hang_at_first(message: Received, connection) -> None:
    """Have an effect, but not end with it the first time that a message comes."""
    note(message, connection)
    if message.deliveries == 1:
        threading.Event().wait()


def die(_message: Received, _connection) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


WAYS: dict[str, dict[str, Any]] = {
    HANDLER: {"handler": note},
    PIPELINE: {"pipeline": copy},
    LETTER: {"handler": give_up},
    STUCK: {"handler": hang_at_first, "timeout": 3.0},
    SUICIDE: {"handler": die},
}


class ConsumerProcess:
    """A consumer in a process of its own."""

    def __init__(self, settings: dict[str, str], *, log: Path, failpoints: str) -> None:
        with log.open("wb") as output:
            self._process = WarmProcess(
                [sys.executable, "-m", "tests.crash.consumers"],
                cwd=REPOSITORY,
                env={**environment_of(), **settings, "HOLDFAST_FAILPOINTS": failpoints},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.log = log

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ended(self, *, within_s: float = PATIENCE_S) -> int:
        """Wait for the end and return the exit status, negative for a signal."""
        return self._process.wait(within_s)

    def events(self, event: str) -> list[dict[str, Any]]:
        """The lines in which the process has told of `event`."""
        lines = self.log.read_text("utf-8", "replace").split("\n")[:-1]
        said = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in said if line.get("event") == event]

    def consuming(self) -> None:
        eventually(lambda: self.events("consuming"), what="it consumes", within_s=60)

    def kill(self) -> None:
        # Not by its number alone, which another process may have by now.
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """Ask it to stop, and return its exit status."""
        if self.is_alive:
            self._process.terminate()
            try:
                return self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        return self._process.returncode


class Consumers:
    """The consumers of one test, the queue that they share and what their messages caused."""

    def __init__(
        self,
        url: str,
        *,
        broker_url: str,
        folder: Path,
        way: str,
        delivery_limit: int = DELIVERY_LIMIT,
    ) -> None:
        self.url = url
        self.broker_url = broker_url
        self.exchange = own("exchange")
        self.queue = Queue(name=own("queue"), types=("#",), delivery_limit=delivery_limit)
        self.app = Holdfast(url, pipelines=[copy])
        self.started: list[ConsumerProcess] = []
        self._folder = folder
        self._settings = {
            "CONSUMER_DATABASE": url,
            "CONSUMER_BROKER": broker_url,
            "CONSUMER_EXCHANGE": self.exchange,
            "CONSUMER_QUEUE": self.queue.name,
            "CONSUMER_LIMIT": str(delivery_limit),
            "CONSUMER_WAY": way,
        }
        self._transport = RabbitMq(broker_url, exchange=self.exchange, queues=[self.queue])
        assert self._transport.ready() is None
        with self.app.store.transaction() as connection:
            connection.execute("create table effect (id text)")

    def start(self, *, failpoints: str = "") -> ConsumerProcess:
        log = self._folder / f"consumer-{len(self.started) + 1}.log"
        made = ConsumerProcess(self._settings, log=log, failpoints=failpoints)
        self.started.append(made)
        return made

    def send(self, *messages: OutboxMessage) -> None:
        outcomes = self._transport.publish([[one] for one in messages], timeout_s=30)
        assert set(outcomes.values()) == {Confirmed()}

    def effects(self) -> list[str]:
        with self.app.store.transaction() as connection:
            return [row[0] for row in connection.execute("select id from effect").fetchall()]

    def emptied(self) -> None:
        """Wait until the broker holds no message of the queue, those with consumers included."""
        eventually(lambda: self._waiting() == 0, what="the queue is empty")
        for consumer in self.started:
            consumer.end()
        assert self._waiting() == 0

    def story(self) -> str:
        """Everything the consumers said, for a failing test."""
        return "\n".join(one.log.read_text("utf-8", "replace") for one in self.started)

    def end(self) -> None:
        for consumer in self.started:
            consumer.end()
        self._transport.close()
        self.app.close()
        delete(
            self.broker_url,
            queues=(self.queue.name, self.queue.dead_queue),
            exchanges=(self.exchange, dead_exchange(self.exchange)),
        )

    def _waiting(self) -> int:
        async def count(channel) -> int:
            queue = await channel.declare_queue(self.queue.name, passive=True)
            return queue.declaration_result.message_count

        return on_channel(self.broker_url, count)


def main() -> int:
    logs.configure(level="info", log_format="json", stream=sys.stderr)
    given = os.environ
    limit = int(given["CONSUMER_LIMIT"])
    queue = Queue(name=given["CONSUMER_QUEUE"], types=("#",), delivery_limit=limit)
    app = Holdfast(given["CONSUMER_DATABASE"], pipelines=[copy])
    return app.consumer(
        given["CONSUMER_BROKER"],
        queue=queue,
        exchange=given["CONSUMER_EXCHANGE"],
        **WAYS[given["CONSUMER_WAY"]],
    ).run()


if __name__ == "__main__":
    sys.exit(main())
