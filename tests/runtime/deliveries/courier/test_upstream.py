"""A provider whose calls go through the breaker of an upstream."""

from dataclasses import replace

import pytest

from holdfast import Breaker, Rate
from holdfast.classify import ProviderError, Verdict
from holdfast.core.job.job import WorkerId
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import SECOND_US
from holdfast.deliveries import DeliveryState
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.breakers.watch import MAX_RETRIES_SAVED
from holdfast.runtime.deliveries.courier import HOLD_US
from tests.runtime.deliveries.courier.desk import OPTIONS, Clerk, Desk, deliver, read

BREAKER = Breaker(consecutive=2, cooldown=30, trials=1, trial_timeout=60, release=0.0)


@pytest.fixture
def clerk() -> Clerk:
    return Clerk(upstream=Upstream("smtp", breaker=BREAKER))


@pytest.fixture
def desk(open_for, clerk: Clerk) -> Desk:
    app = open_for(clerk)
    breakers = Breakers(
        app.store,
        worker=WorkerId("w"),
        stages=list(app.dispatch.providers),
        chance=app.chance,
    )
    breakers.refresh(app.clock.now())
    return Desk(app, breakers=breakers)


def settle(desk: Desk) -> None:
    desk.courier._breakers.tick(desk.app.clock.now())


def test_while_it_is_open_nothing_is_sent_and_no_attempt_is_spent(desk, clerk):
    app = desk.app
    forced = UpstreamState("smtp", forced=Gate.OPEN, forced_by="ada")
    app.store.upstreams.save(forced, now=app.clock.now())
    settle(desk)
    (made,) = deliver(app)
    desk.tick()

    assert desk.waiting == []
    assert read(app, made) == made


def test_failures_open_it_and_a_trial_closes_it(desk, clerk, clock):
    app = desk.app
    deliver(app, 5)
    clerk.raises = ProviderError(
        Verdict("UPSTREAM_5XX", retryable=True, blames_upstream=True), "503", status_code=503
    )
    desk.tick()
    desk.run()
    settle(desk)
    assert app.store.upstreams.get("smtp").gate is Gate.OPEN
    clock.advance(20)
    desk.tick()
    assert desk.waiting == [], "the gate is open: nothing goes through"

    clerk.raises = None
    clock.advance(20)
    settle(desk)
    desk.tick()
    assert desk.run() == 1, "one trial for the whole fleet"
    settle(desk)
    assert app.store.upstreams.get("smtp").gate is Gate.CLOSED
    desk.tick()
    assert desk.run() == 3


def test_a_permit_for_which_no_delivery_was_due_goes_back(open_for, clock):
    several = replace(BREAKER, trials=3, successes=3)
    clerk = Clerk(upstream=Upstream("smtp", breaker=several))
    app = open_for(clerk)
    stages = list(app.dispatch.providers)
    breakers = Breakers(app.store, worker=WorkerId("w"), stages=stages, chance=app.chance)
    breakers.refresh(clock.now())
    desk = Desk(app, breakers=breakers)
    deliver(app, 2)
    clerk.raises = ProviderError(
        Verdict("UPSTREAM_5XX", retryable=True, blames_upstream=True), "503", status_code=503
    )
    desk.tick()
    desk.run()
    settle(desk)
    clock.advance(30)
    settle(desk)
    desk.tick()
    settle(desk)

    assert len(desk.waiting) == 2
    assert len(app.store.upstreams.get("smtp").permits) == 2


def test_a_rate_limit_holds_everything_without_spending_attempts(desk, clerk, clock):
    app = desk.app
    made = deliver(app, 5)
    clerk.raises = ProviderError(
        Verdict("RATE_LIMITED", retryable=True),
        "slow down",
        status_code=429,
        headers={"Retry-After": "60"},
    )
    desk.tick()
    desk.run()
    clerk.raises = None
    settle(desk)
    clock.advance(59)
    desk.tick()
    assert desk.waiting == []

    clock.advance(2)
    settle(desk)
    for _ in range(4):
        desk.tick()
        desk.run()
    assert {read(app, each).state for each in made} == {DeliveryState.SENT}
    assert sorted(read(app, each).attempts for each in made) == [1, 1, 2, 2, 2]


def test_retries_beyond_the_budget_of_the_upstream_are_put_back_and_cost_nothing(open_for, clock):
    clerk = Clerk(upstream=Upstream("smtp", retry_budget=0.0))
    app = open_for(clerk, courier=replace(OPTIONS, concurrency=50))
    breakers = Breakers(
        app.store,
        worker=WorkerId("w"),
        stages=list(app.dispatch.providers),
        chance=app.chance,
    )
    desk = Desk(app, breakers=breakers)
    made = deliver(app, 20)
    clerk.raises = ProviderError(Verdict("RATE_LIMITED", retryable=True), "busy")
    desk.tick()
    assert desk.run() == 20
    clock.advance(8)
    desk.tick()

    put_back = [read(app, each) for each in made if read(app, each).holder is None]
    assert 20 - len(put_back) == len(desk.waiting) == int(MAX_RETRIES_SAVED) + 1
    assert {each.attempts for each in put_back} == {1}
    assert {each.run_at for each in put_back} == {clock.now() + HOLD_US}
    assert breakers.watches["smtp"].in_flight == len(desk.waiting)


class TestRates:
    """A provider with a rate: sends and lookups are calls as any others."""

    @pytest.fixture
    def clerk(self) -> Clerk:
        return Clerk(upstream=Upstream("smtp", rate=Rate(2, per=1, burst=2)))

    def turn(self, desk: Desk) -> None:
        for _ in range(3):
            desk.tick()
            desk.run()
        settle(desk)

    def test_no_more_is_sent_than_the_rate_allows_and_the_rest_follows(self, desk, clerk, clock):
        deliver(desk.app, 7)
        sent = []
        for _ in range(50):
            self.turn(desk)
            sent.append(len(clerk.sent))
            clock.advance(0.1)

        assert sent[0] <= 2
        assert all(count <= 2 + 2 * number * 0.1 for number, count in enumerate(sent))
        assert sent[-1] == 7

    def test_what_has_no_room_spends_no_attempt_and_is_due_when_there_is(self, desk, clerk, clock):
        deliver(desk.app, 5)
        self.turn(desk)
        waiting = [
            view.delivery
            for view in desk.app.deliveries.find(limit=10)
            if view.delivery.state is DeliveryState.INTENT
        ]

        assert len(waiting) >= 3
        assert {delivery.attempts for delivery in waiting} == {0}
        assert all(delivery.run_at <= clock.now() + SECOND_US for delivery in waiting)

    def test_without_anything_to_send_no_calls_are_asked_for(self, desk):
        self.turn(desk)

        assert desk.app.store.upstreams.bucket("smtp").revision == 0
