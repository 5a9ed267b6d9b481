"""Whatever happens to couriers and calls, a provider that keeps its promise tells nobody twice."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.delivery.delivery import Delivery, DeliveryState, Terms
from holdfast.core.delivery.event import (
    Accepted,
    CourierLost,
    DeliveryEvent,
    Finding,
    HandedBack,
    LookedUp,
    Parked,
    Postponed,
    Reconciled,
    SendBegun,
    SendFailed,
)
from holdfast.core.delivery.lifecycle import Step, decide_delivery, next_step
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.failure import BUG
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.quota import Window
from tests.core.delivery.deliveries import (
    BUSY,
    LOST,
    NOW,
    PROMISES,
    REFUSED,
    SPENT,
    a_delivery,
    terms_of,
)

LEASE_US = 30 * SECOND_US
ENDED = {DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.UNKNOWN}
FORGETFUL = Promise(lookup_lag=30, lookup_for=400)

promises = st.sampled_from([*PROMISES.values(), FORGETFUL])
sends = st.sampled_from(
    [
        "accepted",
        "accepted, no answer",
        "accepted, a bug reads the answer",
        "accepted, courier killed",
        "killed before the call",
        "never arrived",
        "busy",
        "quota used up",
        "refused",
        "not begun",
    ]
)
lookups = st.sampled_from(["answered", "silent", "courier killed"])
pauses = st.sampled_from([0, 1, 10, 31, 60, 400, 4000, 90_000])


@dataclass
class Provider:
    """Keeps what it has accepted, and its promise to the letter."""

    promise: Promise
    accepted_at: list[Instant] = field(default_factory=list)
    told: int = 0

    def accept(self, now: Instant) -> None:
        window = self.promise.dedupes_for
        if not self.accepted_at or window is None or now - self.accepted_at[0] > window * SECOND_US:
            self.told += 1
        self.accepted_at.append(now)

    def finds(self, now: Instant) -> bool:
        lag, kept = self.promise.lookup_lag or 0, self.promise.lookup_for
        return any(
            now - at >= lag * SECOND_US and (kept is None or now - at < kept * SECOND_US)
            for at in self.accepted_at
        )


@dataclass
class World:
    """One delivery, its provider and the time."""

    terms: Terms
    provider: Provider
    delivery: Delivery
    now: Instant = NOW

    def move(self, event: DeliveryEvent) -> None:
        decided = decide_delivery(self.delivery, event, self.terms, self.now, 0.5)
        assert isinstance(decided, Delivery), decided
        self.delivery = decided._replace(revision=self.delivery.revision + 1)

    def pass_time(self, seconds: int) -> None:
        self.now = later(self.now, seconds * SECOND_US)

    def turn(self, send: str, lookup: str) -> None:
        """Let a courier do what is next, once it is due."""
        if self.delivery.holder is not None:
            self.now = max(self.now, later(self.delivery.lease_until, 1))
            self.move(CourierLost())
            return
        self.now = max(self.now, self.delivery.run_at)
        lease_until = later(self.now, LEASE_US)
        self.delivery = self.delivery._replace(
            holder="courier", lease_until=lease_until, run_at=lease_until
        )
        match next_step(self.delivery, self.terms, self.now):
            case Step.SEND:
                self._send(send)
            case Step.LOOK_UP:
                self._look_up(lookup)
            case Step.PARK:
                self.move(Parked())

    def _send(self, how: str) -> None:
        since = self.now
        self.move(SendBegun())
        if how == "killed before the call":
            return
        self.pass_time(9)
        if how.startswith("accepted"):
            self.provider.accept(self.now)
        match how:
            case "accepted":
                self.move(Accepted("m-1"))
            case "accepted, no answer" | "never arrived":
                self.move(SendFailed(LOST, since))
            case "accepted, a bug reads the answer":
                self.move(SendFailed(BUG, since))
            case "busy":
                self.move(SendFailed(BUSY, since))
            case "quota used up":
                self.move(Postponed(SPENT, since, Window.DAY))
            case "refused":
                self.move(SendFailed(REFUSED, since))
            case "not begun":
                self.move(HandedBack(since))

    def _look_up(self, how: str) -> None:
        if how == "answered":
            found = self.provider.finds(self.now)
            self.move(LookedUp(Finding.FOUND if found else Finding.MISSING))
        elif how == "silent":
            self.move(LookedUp(Finding.UNAVAILABLE))


def a_world(promise: Promise) -> World:
    return World(terms_of(promise), Provider(promise), a_delivery("intent", updated_at=NOW))


def judge(world: World) -> None:
    assert world.provider.told <= 1
    if world.delivery.state is DeliveryState.SENT:
        assert world.provider.told == 1
    if world.delivery.state is DeliveryState.FAILED:
        assert world.provider.told == 0


turns = st.lists(st.tuples(sends, lookups, pauses), max_size=30)


@given(promise=promises, turns=turns)
@settings(max_examples=5 * settings().max_examples)
def test_nobody_is_told_twice_and_what_is_said_is_true(promise, turns):
    world = a_world(promise)
    for send, lookup, pause in turns:
        if world.delivery.state in ENDED:
            break
        world.turn(send, lookup)
        world.pass_time(pause)
        judge(world)


@given(promise=promises, turns=turns)
@settings(max_examples=3 * settings().max_examples)
def test_every_delivery_comes_to_an_end(promise, turns):
    world = a_world(promise)
    for send, lookup, pause in turns:
        if world.delivery.state in ENDED:
            break
        world.turn(send, lookup)
        world.pass_time(pause)
    for _ in range(20):
        if world.delivery.state in ENDED:
            break
        world.turn("accepted", "answered")

    assert world.delivery.state in ENDED
    judge(world)


@given(turns=turns)
@settings(max_examples=3 * settings().max_examples)
def test_who_can_be_asked_and_answers_leaves_nothing_unknown(turns):
    world = a_world(PROMISES["lookup"])
    for send, _, pause in turns:
        if world.delivery.state in ENDED:
            break
        world.turn(send, "answered")
        world.pass_time(pause)

    assert world.delivery.state is not DeliveryState.UNKNOWN


@given(turns=turns, silence=st.booleans())
@settings(max_examples=3 * settings().max_examples)
def test_reconciliation_finds_out_what_is_unknown_and_tells_nobody_twice(turns, silence):
    world = a_world(PROMISES["both"])
    for send, lookup, pause in turns:
        if world.delivery.state in ENDED:
            break
        world.turn(send, lookup)
        world.pass_time(pause)
    if world.delivery.state is DeliveryState.UNKNOWN:
        if silence:
            world.move(Reconciled(Finding.UNAVAILABLE))
            assert world.delivery.state is DeliveryState.UNKNOWN
        world.pass_time(31)
        found = world.provider.finds(world.now)
        world.move(Reconciled(Finding.FOUND if found else Finding.MISSING))
    for _ in range(20):
        if world.delivery.state in ENDED:
            break
        world.turn("accepted", "answered")

    assert world.delivery.state is not DeliveryState.UNKNOWN
    judge(world)


@pytest.mark.parametrize("lag_s", [0, 30, 90])
def test_a_provider_whose_lookup_is_slower_than_it_declares_breaks_the_promise_not_we(lag_s):
    """Within the declared lag nobody is told twice; beyond it the provider said what is not so."""
    world = a_world(PROMISES["lookup"])
    world.turn("accepted, no answer", "answered")
    accepted_at = world.provider.accepted_at[0]

    world.provider = Provider(Promise(lookup_lag=3600), world.provider.accepted_at)
    while world.delivery.state is DeliveryState.SENDING:
        world.turn("accepted", "answered")
    believed_too_early = world.now - accepted_at < lag_s * SECOND_US

    assert believed_too_early == (lag_s > 30)
