"""The relay, turn by turn: a real outbox, a manual clock, and a transport that does as told."""

import logging
from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.outbox import (
    Confirmed,
    NotTaken,
    OutboxStatus,
    Trouble,
    Unsendable,
)
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidValue, StoreUnavailable, TopologyMismatch
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.outbox.relay import LONGEST_PAUSE_US, RelayOptions, RelayService
from holdfast.runtime.outbox.relay_process import Relay
from holdfast.testing import ManualClock
from holdfast.testing.servers.proxy import PostgresProxy

DOWN = NotTaken(Trouble.UNAVAILABLE, "nobody answers")
REFUSED = NotTaken(Trouble.REFUSED, "no")


class Broker:
    """A transport that takes everything, unless a test says otherwise."""

    name = "scripted"

    def __init__(self) -> None:
        self.trouble: NotTaken | None = None
        self.broken: Exception | None = None
        self.answers: dict[str, object] = {}
        self.taken: list[str] = []
        self.runs: list[list[list[str]]] = []
        self.asked = 0
        self.when_taken: Callable[[], None] = lambda: None

    def ready(self):
        self.asked += 1
        if self.broken is not None:
            raise self.broken
        return self.trouble

    def publish(self, runs, *, timeout_s):
        self.runs.append([[message.payload for message in run] for run in runs])
        outcomes = {}
        for run in runs:
            for message in run:
                outcome = self.answers.get(message.payload, Confirmed())
                outcomes[message.id] = outcome
                if outcome == Confirmed():
                    self.taken.append(message.payload)
                if isinstance(outcome, NotTaken):
                    break
        self.when_taken()
        return outcomes

    def close(self) -> None:
        """Nothing is held."""


class Bench:
    """One relay beside its application, in the test's own time."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock()
        self.app = Holdfast(url, clock=self.clock, chance=Chance(7))
        self.broker = Broker()
        self.fatal: list[str] = []
        self.relay = self.another("relay-1")

    def another(self, holder: str, **options) -> RelayService:
        return RelayService(
            self.app.store,
            self.broker,
            holder=holder,
            clock=self.clock,
            chance=Chance(7),
            options=RelayOptions(**{"batch_size": 3, **options}),
            policy=Retry(attempts=3, base=2.0, factor=2.0, cap=60.0, jitter="none"),
            on_fatal=self.fatal.append,
        )

    def publish(self, *payloads: int, aggregate_id: str | None = None) -> list[str]:
        return [
            self.app.publish("note", payload, aggregate_id=aggregate_id) for payload in payloads
        ]

    def turn(self, relay: RelayService | None = None) -> float:
        """One turn, and the seconds until the next."""
        now = self.clock.now()
        return ((relay or self.relay).tick(now) - now) / SECOND_US

    def status(self, message_id: str) -> tuple[OutboxStatus, int, str | None]:
        message = self.app.outbox.get(message_id)
        return message.status, message.retry_count, message.error_message


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.app.close()


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.event for record in caplog.records if hasattr(record, "event")]


def test_what_nobody_sets_is_as_operators_expect_it():
    options = RelayOptions()

    assert (options.batch_size, options.poll_interval, options.stale_threshold) == (50, 5.0, 60.0)


def test_messages_are_published_and_marked_batch_by_batch(bench: Bench):
    sent = bench.publish(1, 2, 3, 4)

    assert bench.turn() == 0
    assert bench.broker.taken == ["1", "2", "3"]
    assert bench.turn() == 0
    assert bench.broker.taken == ["1", "2", "3", "4"]
    assert bench.turn() == 5.0
    assert [bench.status(one) for one in sent] == [(OutboxStatus.PUBLISHED, 0, None)] * 4


def test_messages_that_follow_one_another_are_left_to_gather(bench: Bench):
    relay = bench.another("gathers", gather=0.05)
    bench.publish(1)

    assert bench.turn(relay) == 0.05, "the first one waits for nothing"
    bench.publish(2, 3)
    assert bench.turn(relay) == 0.05
    assert bench.broker.taken == ["1"]
    bench.clock.advance(0.05)
    bench.publish(4, 5)
    assert bench.turn(relay) == 0, "a full batch is followed at once"
    assert bench.turn(relay) == 0.05
    assert bench.broker.taken == ["1", "2", "3", "4", "5"]


def test_an_aggregate_is_one_run_in_order(bench: Bench):
    bench.publish(1, 2, aggregate_id="a")
    bench.publish(3)

    bench.turn()

    assert sorted(bench.broker.runs[0]) == [["1", "2"], ["3"]]


def test_behind_a_message_that_is_refused_the_others_of_its_aggregate_wait(bench: Bench):
    first, second = bench.publish(1, 2, aggregate_id="a")
    other, *_ = bench.publish(3, aggregate_id="b")
    bench.broker.answers["1"] = REFUSED

    bench.turn()
    assert bench.status(first) == (OutboxStatus.PENDING, 1, "refused: no")
    assert bench.status(second) == (OutboxStatus.PENDING, 0, None)
    assert bench.status(other)[0] is OutboxStatus.PUBLISHED
    bench.turn()
    assert bench.turn() == 2.0

    del bench.broker.answers["1"]
    bench.clock.advance(2)
    bench.turn()
    assert bench.broker.taken == ["3", "1", "2"]


def test_a_message_is_given_up_when_it_was_refused_too_often(bench: Bench, caplog):
    given_up, follower = bench.publish(1, 2, aggregate_id="a")
    bench.broker.answers["1"] = REFUSED

    for _ in range(3):
        bench.turn()
        bench.clock.advance(10)
    assert bench.status(given_up) == (OutboxStatus.FAILED, 3, "refused: no")
    assert "message_given_up" in events(caplog)
    assert f"holdfast outbox retry {given_up}" in caplog.text
    bench.turn()
    assert bench.status(follower)[0] is OutboxStatus.PUBLISHED


def test_what_can_never_be_sent_is_given_up_at_once_and_holds_nobody_up(bench: Bench):
    large, _ = bench.publish(1, 2, aggregate_id="a")
    bench.broker.answers["1"] = Unsendable("too large")

    bench.turn()

    assert bench.status(large) == (OutboxStatus.FAILED, 1, "too large")
    assert bench.broker.taken == ["2"]


def test_a_broker_that_is_away_costs_no_message_anything(bench: Bench, caplog):
    (message,) = bench.publish(1)
    bench.broker.trouble = DOWN

    waits = []
    for _ in range(12):
        waits.append(bench.turn())
        bench.clock.advance(waits[-1])

    assert bench.status(message) == (OutboxStatus.PENDING, 0, None)
    assert max(waits) <= LONGEST_PAUSE_US / SECOND_US
    assert waits[0] < waits[3] < waits[-1]
    assert events(caplog).count("relay_held_up") == 1

    bench.broker.trouble = None
    assert bench.turn() == 0
    assert bench.broker.taken == ["1"]


def test_while_it_leaves_the_broker_alone_a_wake_up_changes_nothing(bench: Bench):
    bench.publish(1)
    bench.broker.trouble = DOWN
    pause = bench.turn()
    asked = bench.broker.asked

    assert bench.turn() == pause
    assert bench.broker.asked == asked


@pytest.mark.parametrize("trouble", [Trouble.UNAVAILABLE, Trouble.BLOCKED, Trouble.UNCONFIRMED])
def test_an_outage_in_the_middle_of_a_batch_leaves_it_pending(bench: Bench, trouble):
    sent = bench.publish(1, 2)
    bench.broker.answers = {"1": NotTaken(trouble, "gone"), "2": NotTaken(trouble, "gone")}

    assert bench.turn() > 0
    assert [bench.status(one) for one in sent] == [
        (OutboxStatus.PENDING, 1, f"{trouble}: gone")
    ] * 2

    bench.broker.answers = {}
    bench.clock.advance(10)
    bench.turn()
    assert bench.broker.taken == ["1", "2"]


def test_with_nothing_to_do_it_looks_again_after_the_interval(bench: Bench):
    assert bench.turn() == 5.0
    assert bench.broker.asked == 0

    relay = bench.another("relay-2", poll_interval=0.5)
    assert bench.turn(relay) == 0.5


def test_two_relays_share_the_work_and_send_nothing_twice(bench: Bench):
    bench.publish(*range(9))
    other = bench.another("relay-2")

    for _ in range(3):
        bench.turn()
        bench.turn(other)

    assert sorted(bench.broker.taken) == [str(number) for number in range(9)]


def test_a_relay_that_died_is_succeeded_when_its_lease_ends(bench: Bench):
    bench.publish(1)
    dead = bench.another("relay-2")
    dead._claim(bench.clock.now())

    assert bench.turn() == 5.0
    bench.clock.advance(30)
    bench.turn()
    assert bench.broker.taken == ["1"]


def test_a_relay_that_ends_lets_go_of_what_it_leased(bench: Bench):
    bench.publish(1)
    other = bench.another("relay-2")
    other._claim(bench.clock.now())

    other.release()

    bench.turn()
    assert bench.broker.taken == ["1"]


def test_a_relay_process_that_ends_lets_go_of_what_it_leased(bench: Bench):
    bench.publish(1)
    process = Relay(
        bench.app.store,
        bench.broker,
        clock=bench.clock,
        chance=Chance(8),
        options=RelayOptions(),
    )
    process._service._claim(bench.clock.now())

    assert process.stop() == 0

    bench.turn()
    assert bench.broker.taken == ["1"]


def test_what_could_not_be_marked_is_marked_later_and_not_published_again(postgres_url: str):
    with PostgresProxy(postgres_url) as proxy:
        bench = Bench(proxy.url)
        (message,) = bench.publish(1)
        bench.broker.when_taken = proxy.refuse

        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                bench.turn()
        proxy.pass_through()
        bench.turn()

        assert bench.broker.taken == ["1"]
        assert bench.status(message)[0] is OutboxStatus.PUBLISHED
        bench.app.close()


def test_nothing_is_told_of_a_message_before_it_is_written(postgres_url: str, caplog):
    with PostgresProxy(postgres_url) as proxy:
        bench = Bench(proxy.url)
        bench.publish(1)
        bench.broker.answers["1"] = Unsendable("too large")
        bench.broker.when_taken = proxy.refuse
        with pytest.raises(StoreUnavailable):
            bench.turn()
        assert "message_given_up" not in events(caplog)

        proxy.pass_through()
        bench.turn()

        assert events(caplog).count("message_given_up") == 1
        bench.app.close()


def test_a_lease_that_was_lost_while_publishing_is_told(bench: Bench, caplog):
    bench.publish(1)
    slow = bench.another("relay-2")
    messages = slow._claim(bench.clock.now())
    bench.clock.advance(31)
    bench.turn()

    slow._settle(messages, {message.id: Confirmed() for message in messages})

    assert "lease_lost" in events(caplog)


def test_it_warns_while_a_message_waits_for_too_long(bench: Bench, caplog):
    bench.publish(1)
    bench.broker.trouble = DOWN

    def warnings_until(seconds: float) -> int:
        ends = bench.clock.now() + int(seconds * SECOND_US)
        while bench.clock.now() < ends:
            bench.clock.advance(5)
            bench.turn()
        return events(caplog).count("outbox_stale")

    assert warnings_until(55) == 0
    assert warnings_until(40) == 1
    assert warnings_until(120) == 3
    stale = next(r for r in caplog.records if getattr(r, "event", "") == "outbox_stale")
    assert stale.levelno == logging.WARNING
    assert (stale.pending, stale.failed) == (1, 0)
    assert stale.oldest_s > 60

    bench.broker.trouble = None
    assert warnings_until(300) == 3


def test_what_a_person_has_to_repair_ends_the_relay(bench: Bench):
    bench.publish(1)
    bench.broker.broken = TopologyMismatch("queue", "q", argument="x-queue-type", reason="other")

    bench.turn()

    assert len(bench.fatal) == 1
    assert "'q'" in bench.fatal[0]


def test_a_transport_that_forgets_a_message_has_not_tried_it(bench: Bench, monkeypatch):
    (message,) = bench.publish(1)
    monkeypatch.setattr(bench.broker, "publish", lambda *_, **__: {})

    bench.turn()

    assert bench.status(message) == (OutboxStatus.PENDING, 0, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch_size", 0),
        ("batch_size", 1.5),
        ("poll_interval", 0),
        ("stale_threshold", -1),
        ("publish_timeout", "soon"),
        ("lease", 10.0),
        ("gather", -0.1),
    ],
)
def test_options_that_make_no_sense_are_refused(field, value):
    with pytest.raises(InvalidValue, match=field):
        RelayOptions(**{field: value})
