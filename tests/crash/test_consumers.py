"""Consumers that are killed between what a message caused and what the broker hears of it."""

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridges.broker import a_message, drained
from tests.crash.consumers import (
    DELIVERY_LIMIT,
    HANDLER,
    LETTER,
    PIPELINE,
    STUCK,
    SUICIDE,
    Consumers,
)
from tests.crash.fleet import eventually
from tests.crash.sampling import on_both_databases

pytestmark = pytest.mark.timeout(200)
BUSY_S = 60.0


@pytest.fixture
def way() -> str:
    return HANDLER


@pytest.fixture
def delivery_limit() -> int:
    return DELIVERY_LIMIT


@pytest.fixture
def consumers(
    database_url: str, amqp_url: str, tmp_path: Path, way: str, delivery_limit: int
) -> Iterator[Consumers]:
    made = Consumers(
        database_url, broker_url=amqp_url, folder=tmp_path, way=way, delivery_limit=delivery_limit
    )
    try:
        yield made
    finally:
        made.end()


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(
        ["settle.before", "settle.after"],
        quick={"settle.before"},
        quick_on_sqlite={"settle.before"},
    ),
    indirect=["database_url"],
)
def test_what_was_committed_when_its_consumer_was_killed_is_not_done_again(
    consumers: Consumers, point: str
):
    sent = a_message()
    consumers.send(sent)

    assert consumers.start(failpoints=f"{point}=kill").ended() == -signal.SIGKILL
    assert consumers.effects() == [sent.id]
    next_one = consumers.start()
    next_one.consuming()
    if point == "settle.before":
        (again,) = eventually(
            lambda: next_one.events("duplicate"), what="it comes again", within_s=BUSY_S
        )
        assert again["message_id"] == sent.id
    later = a_message(2)
    consumers.send(later)

    eventually(lambda: later.id in consumers.effects(), what="the next is handled")
    consumers.emptied()
    assert consumers.effects() == [sent.id, later.id]


@pytest.mark.slow
@pytest.mark.parametrize("way", [PIPELINE])
def test_a_consumer_that_was_killed_after_it_made_a_job_has_made_one_job(consumers: Consumers):
    sent = a_message()
    consumers.send(sent)

    assert consumers.start(failpoints="settle.before=kill").ended() == -signal.SIGKILL
    assert [job.job.key for job in consumers.app.jobs()] == [sent.id]
    consumers.start().consuming()
    later = a_message(2)
    consumers.send(later)

    eventually(lambda: len(consumers.app.jobs()) > 1, what="the next one's job is made")
    consumers.emptied()
    assert {job.job.key for job in consumers.app.jobs()} == {sent.id, later.id}
    assert len(consumers.app.jobs()) == 2


@pytest.mark.parametrize("way", [LETTER])
@pytest.mark.parametrize(
    "database_url",
    ["postgres", pytest.param("sqlite", marks=pytest.mark.slow)],
    indirect=True,
)
def test_a_message_that_was_given_up_twice_is_one_dead_letter(consumers: Consumers):
    sent = a_message()
    consumers.send(sent)
    assert consumers.start(failpoints="settle.before=kill").ended() == -signal.SIGKILL
    next_one = consumers.start()
    eventually(lambda: next_one.events("message_dead"), what="it comes again", within_s=BUSY_S)
    consumers.emptied()

    undertaker = consumers.app.dead_letter_consumer(
        consumers.broker_url, queue=consumers.queue, exchange=consumers.exchange
    )
    undertaker.start()
    eventually(consumers.app.dead.find, what="it is buried")
    undertaker.stop()

    assert drained(consumers.broker_url, consumers.queue.dead_queue) == []
    (view,) = consumers.app.dead.find()
    assert (view.id, view.letter.deaths) == (sent.id, 1)


@pytest.mark.parametrize("way", [STUCK])
def test_a_handler_that_hangs_ends_its_process_and_the_next_one_handles_the_message(
    consumers: Consumers,
):
    sent = a_message()
    consumers.send(sent)
    first = consumers.start()

    assert first.ended() == 1
    assert "HandlerStuck" in first.log.read_text("utf-8")
    assert consumers.effects() == []
    consumers.start()
    eventually(consumers.effects, what="it is handled", within_s=BUSY_S)
    consumers.emptied()
    assert consumers.effects() == [sent.id]


@pytest.mark.parametrize(("way", "delivery_limit"), [(SUICIDE, 2)])
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_message_that_kills_its_consumers_is_a_dead_letter_at_the_limit(consumers: Consumers):
    sent = a_message()
    consumers.send(sent)
    for _ in range(consumers.queue.delivery_limit + 1):
        assert consumers.start().ended() == -signal.SIGKILL
    last = consumers.start()
    last.consuming()

    letters = eventually(
        lambda: drained(consumers.broker_url, consumers.queue.dead_queue), what="it is given up"
    )

    assert [letter.message_id for letter in letters] == [sent.id]
    assert last.is_alive
    consumers.emptied()


@pytest.mark.slow
def test_messages_have_one_effect_each_while_their_consumers_are_killed_at_random(
    consumers: Consumers,
):
    chance = random.Random(3)
    running = [consumers.start(), consumers.start()]
    for one in running:
        one.consuming()
    sent: list[str] = []
    for _ in range(8):
        batch = [a_message(number) for number in range(40)]
        consumers.send(*batch)
        sent += [message.id for message in batch]
        time.sleep(chance.uniform(0.0, 0.2))  # so that kills meet consumers at different points
        running.pop(chance.randrange(len(running))).kill()
        running.append(consumers.start())

    eventually(lambda: len(consumers.effects()) >= len(sent), what="all are handled", within_s=120)
    consumers.emptied()
    assert sorted(consumers.effects()) == sorted(sent)
