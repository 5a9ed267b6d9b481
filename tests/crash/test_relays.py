"""Relays that are killed, many at once, and brokers that come and go: nothing is lost."""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.runtime.outbox.received import Received
from holdfast.testing.conformance.messages.outbox import rolled_back
from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from tests.crash.fleet import eventually
from tests.crash.relaying import BATCH_SIZE, Relays, assert_in_order
from tests.crash.sampling import RELAY_POINTS, on_both_databases

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def relays(database_url: str, amqp_url: str, tmp_path: Path) -> Iterator[Relays]:
    made = Relays(database_url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(
        RELAY_POINTS, quick={"publish.before", "publish.after"}, quick_on_sqlite={"publish.after"}
    ),
    indirect=["database_url"],
)
def test_what_a_killed_relay_had_at_hand_is_sent_again_under_the_same_ids(
    relays: Relays, point: str
):
    sent = relays.publish(BATCH_SIZE)

    assert relays.start(failpoints=f"{point}=kill").ended() == -signal.SIGKILL
    assert relays.app.outbox.standing().pending == (0 if point.endswith("mark.after") else 5)
    relays.start()
    relays.all_published()

    counts = Counter(message_id for message_id, *_ in relays.received())
    twice = point in {"publish.after", "outbox.mark.before"}
    assert counts == dict.fromkeys(sent, 2 if twice else 1)


def test_a_message_that_was_sent_twice_has_one_effect(relays: Relays):
    sent = relays.publish(BATCH_SIZE)
    assert relays.start(failpoints="publish.after=kill").ended() == -signal.SIGKILL
    relays.start()
    relays.all_published()
    with relays.app.store.transaction() as connection:
        connection.execute("create table effect (id text)")
    consumer = relays.app.consumer(
        relays.broker_url, queue=relays.queue, exchange=relays.exchange, handler=_note
    )

    consumer.start()
    eventually(lambda: len(_effects(relays)) >= BATCH_SIZE, what="all have their effect")
    consumer.stop()

    assert sorted(_effects(relays)) == sorted(sent)
    left = Counter(message_id for message_id, *_ in relays.received())
    assert not left or max(left.values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database_url", "kills"),
    on_both_databases([2, 12], quick={2}),
    indirect=["database_url"],
)
def test_many_relays_that_are_killed_at_random_lose_nothing_and_keep_the_order(
    relays: Relays, kills: int
):
    chance = random.Random(11)
    running = [relays.start() for _ in range(4)]
    sent: list[str] = []
    stop = threading.Event()

    def publish() -> None:
        number = 0
        while not stop.is_set():
            # More of one aggregate than a relay takes at once, so that others could take the rest.
            with relays.app.store.transaction() as connection:
                sent.extend(
                    relays.app.publish(
                        "note", number, aggregate_id=f"a-{number % 3}", connection=connection
                    )
                    for _ in range(2 * BATCH_SIZE)
                )
            with rolled_back(relays.app.store) as connection:
                relays.app.publish("note", "never", connection=connection)
            number += 1
            time.sleep(0.05)

    publishing = threading.Thread(target=publish)
    publishing.start()
    try:
        for _ in range(kills):
            before = len(sent)
            eventually(lambda before=before: len(sent) > before + 60, what="more is published")
            running.pop(chance.randrange(len(running))).kill()
            running.append(relays.start())
    finally:
        stop.set()
        publishing.join()
    relays.all_published()

    received = relays.received()
    counts = Counter(message_id for message_id, *_ in received)
    assert set(counts) == set(sent), relays.story()
    again = sum(count - 1 for count in counts.values())
    assert again <= kills * BATCH_SIZE, "at most what a killed relay had at hand is sent again"
    assert_in_order(received)


@pytest.mark.parametrize(
    ("database_url", "rounds"), on_both_databases([1, 4], quick=()), indirect=["database_url"]
)
def test_a_broker_that_dies_while_it_is_used_costs_nothing(
    database_url: str, rounds: int, rabbitmq_server: PrivateRabbitmq, tmp_path: Path
):
    relays = Relays(database_url, broker_url=rabbitmq_server.url, folder=tmp_path)
    with ExitStack() as stack:
        stack.callback(relays.end)
        relays.start()
        relays.start()
        with relays.app.store.transaction() as connection:
            connection.execute("create table effect (id text)")
        for _ in range(2):
            consumer = relays.app.consumer(
                rabbitmq_server.url, queue=relays.queue, exchange=relays.exchange, handler=_note
            )
            consumer.start()
            stack.callback(consumer.stop)
        sent = relays.publish(20)
        eventually(lambda: len(_effects(relays)) == 20, what="all have their effect")
        rabbitmq_server.settle()

        for number in range(rounds):
            before = len(sent)
            publishing = threading.Thread(target=lambda: sent.extend(relays.publish(60)))
            publishing.start()
            eventually(lambda before=before: len(_effects(relays)) > before, what="some arrive")
            rabbitmq_server.kill() if number % 2 == 0 else rabbitmq_server.stop()
            publishing.join()
            rabbitmq_server.start()
            relays.all_published(within_s=60)
            eventually(
                lambda: len(_effects(relays)) == len(sent),
                what="all have their effect",
                within_s=60,
            )

        assert sorted(_effects(relays)) == sorted(sent)
        eventually(
            lambda: len(rabbitmq_server.consumers(relays.queue.name)) == 2,
            what="both consume again, also the one that found nothing left to do",
            within_s=30,
        )


def _note(message: Received, connection) -> None:
    connection.execute(f"insert into effect values ('{message.id}')")


def _effects(relays: Relays) -> list[str]:
    with relays.app.store.transaction() as connection:
        return [row[0] for row in connection.execute("select id from effect").fetchall()]
