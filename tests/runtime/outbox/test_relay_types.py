"""Relays that publish some types of messages each, beside one another on one outbox."""

import time
from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast
from holdfast.core.values.outbox import Confirmed, NotTaken, Trouble
from holdfast.errors import InvalidValue
from holdfast.messaging import OutboxStatus

DOWN = NotTaken(Trouble.UNAVAILABLE, "nobody answers")
PATIENCE_S = 20.0


class Broker:
    """A transport that takes everything while it is there."""

    name = "scripted"

    def __init__(self, *, there: bool = True) -> None:
        self.there = there
        self.taken: list[str] = []

    def ready(self):
        return None if self.there else DOWN

    def publish(self, runs, *, timeout_s):
        messages = [message for run in runs for message in run]
        self.taken += [message.message_type for message in messages]
        return {message.id: Confirmed() for message in messages}

    def close(self) -> None:
        """Nothing is held."""


@pytest.fixture
def app(database_url: str) -> Iterator[Holdfast]:
    with Holdfast(database_url) as made:
        yield made


@pytest.fixture
def start(app: Holdfast) -> Iterator[Callable[..., Broker]]:
    relays = []

    def make(broker: Broker, **options) -> Broker:
        relay = app.relay(broker, **options)
        relay.start()
        relays.append(relay)
        return broker

    yield make
    for relay in relays:
        relay.stop()


def until(look: Callable[[], bool]) -> None:
    ends_at_s = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < ends_at_s
        time.sleep(0.01)


def test_each_relay_publishes_its_own_types(app: Holdfast, start):
    notes = start(Broker(), types=["note", "memo"])
    others = start(Broker(), without_types=["note", "memo"])

    for kind in ("note", "grade", "memo", "note", "notes"):
        app.publish(kind, 1, aggregate_id="a")

    until(lambda: app.outbox.standing().pending == 0)
    assert notes.taken == ["note", "memo", "note"]
    assert others.taken == ["grade", "notes"]


def test_an_outage_of_one_broker_holds_up_the_types_of_its_relay_alone(app: Holdfast, start):
    away = start(Broker(there=False), without_types=["note"])
    held_up = app.publish("grade", 1, aggregate_id="a")
    start(Broker(), types=["note"])

    note = app.publish("note", 1, aggregate_id="a")

    until(lambda: app.outbox.get(note).status is OutboxStatus.PUBLISHED)
    assert app.outbox.get(held_up).status is OutboxStatus.PENDING
    assert away.taken == []


@pytest.mark.parametrize(
    "options",
    [{"types": []}, {"types": "note"}, {"without_types": "note"}, {"types": [""]}],
)
def test_types_that_name_nothing_are_refused(app: Holdfast, options):
    with pytest.raises(InvalidValue, match="types"):
        app.relay(Broker(), **options)
