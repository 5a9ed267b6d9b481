"""What a courier does with its turns: how much at a time, held by whom, and beside whom."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import (
    Breaker,
    CourierOptions,
    DeliveryState,
    Evidence,
    Holdfast,
    Notify,
    Promise,
    Recipient,
    Retry,
    WorkerOptions,
)
from holdfast.classify import ProviderError, Verdict
from holdfast.core.delivery import Delivery
from holdfast.core.delivery_event import Accepted, CourierLost
from holdfast.core.delivery_lifecycle import decide_delivery
from holdfast.core.event import Suspended
from holdfast.core.instant import SECOND_US, Instant
from holdfast.core.job import WorkerId
from holdfast.core.upstream import Gate, UpstreamState
from holdfast.pipeline import Upstream
from holdfast.runtime.breakers import Breakers
from holdfast.runtime.courier import HOLD_US, MOST_STUCK, Courier
from holdfast.runtime.lanes import child
from holdfast.runtime.watch import MOST_RETRIES_SAVED
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing import ManualClock

LOOKUP = Promise(lookup_lag=0.0)
OPTIONS = CourierOptions(
    timeout=10,
    lease=30,
    concurrency=3,
    retry=Retry(attempts=3, base=8, factor=1, jitter="none"),
)


class Clerk:
    """A provider that counts its calls, and does what it is told."""

    def __init__(self, promise: Promise = LOOKUP, *, name: str = "mail", **more) -> None:
        self.name, self.promise = name, promise
        self.sent: list[str] = []
        self.raises: Exception | None = None
        for key, value in more.items():
            setattr(self, key, value)

    def send(self, message, *, token: str, timeout_s: float) -> Evidence:
        self.sent.append(message["to"])
        if self.raises is not None:
            raise self.raises
        return Evidence(f"m-{len(self.sent)}")

    def lookup(self, *, token: str, notification_id: str | None, timeout_s: float):
        return None


class Desk:
    """A courier whose errands are run when the test says so."""

    def __init__(self, app: Holdfast, *, breakers: Breakers | None = None) -> None:
        self.app = app
        self.waiting: list[Callable[[], None]] = []
        notices = app.dispatch.notices(app.store, chance=app.chance, announcer=app.announcer)
        assert notices is not None
        self.courier: Courier = app.dispatch.courier(
            app.store,
            notices=notices,
            holder="courier-1",
            clock=app.clock,
            chance=app.chance,
            poll_us=SECOND_US,
            breakers=breakers,
            start=self.waiting.append,
        )

    def tick(self) -> None:
        self.courier.tick(self.app.clock.now())

    def run(self) -> int:
        """Run what is waiting, and return how much that was."""
        errands, self.waiting[:] = list(self.waiting), []
        for errand in errands:
            errand()
        return len(errands)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_app(database_url: str, clock: ManualClock) -> Iterator[Callable[..., Holdfast]]:
    with ExitStack() as opened:

        def make(*providers, **options) -> Holdfast:
            given = {"courier": OPTIONS, "clock": clock, **options}
            return opened.enter_context(Holdfast(database_url, providers=providers, **given))

        yield make


def deliver(app: Holdfast, count: int = 1, **options) -> list[Delivery]:
    recipients = [f"{number}@example.test" for number in range(count)]
    views = app.deliver("s", recipients=recipients, message={}, **options)
    return [view.delivery for view in views]


def read(app: Holdfast, delivery: Delivery) -> Delivery:
    return app.deliveries.get(delivery.id).delivery


def test_no_more_calls_are_under_way_than_there_are_places(open_app):
    clerk = Clerk()
    app = open_app(clerk)
    deliver(app, 7)
    desk = Desk(app)

    ran = []
    for _ in range(4):
        desk.tick()
        desk.tick()
        ran.append(desk.run())

    assert ran == [3, 3, 1, 0]
    assert len(clerk.sent) == 7


def test_that_a_send_begins_is_stored_before_anything_is_handed_over(open_app, clock):
    app = open_app(Clerk())
    (made,) = deliver(app)
    desk = Desk(app)
    desk.tick()

    begun = read(app, made)
    assert (begun.state, begun.began_at, begun.attempts) == (
        DeliveryState.SENDING,
        clock.now(),
        1,
    )
    assert (begun.holder, begun.notified_at) == ("courier-1", None)


def test_providers_do_not_take_each_others_places(open_app):
    slow, quick = Clerk(), Clerk(name="post")
    app = open_app(slow, quick)
    deliver(app, 9, provider="mail")
    desk = Desk(app)
    desk.tick()
    del desk.waiting[:]
    deliver(app, 2, provider="post", version=2)
    desk.tick()
    desk.run()

    assert (len(slow.sent), len(quick.sent)) == (0, 2)


def test_calls_that_hang_beyond_their_lease_free_their_places_up_to_a_limit(open_app, clock):
    app = open_app(Clerk(Promise()))
    deliver(app, 100)
    desk = Desk(app)
    hanging = 0
    for _ in range(10):
        desk.tick()
        hanging += len(desk.waiting)
        del desk.waiting[:]
        clock.advance(31)

    assert hanging == MOST_STUCK * OPTIONS.concurrency
    assert len(desk.courier) == hanging


def test_what_belongs_to_a_provider_that_is_not_known_here_is_left_alone(open_app, clock):
    app = open_app(Clerk(name="post"))
    (made,) = deliver(app)
    other = Desk(open_app(Clerk()))
    other.tick()

    assert other.waiting == []
    assert read(app, made) == made


def test_leases_are_not_judged_right_after_the_clock_was_set(database_url, clock):
    class Jumpy(ManualClock):
        steady = False

        def steady_for(self, span_us: int) -> bool:
            return self.steady

    jumpy = Jumpy()
    with Holdfast(database_url, providers=[Clerk()], courier=OPTIONS, clock=jumpy) as app:
        (made,) = deliver(app)
        desk = Desk(app)
        desk.tick()
        jumpy.advance(31)
        desk.tick()
        assert read(app, made).holder == "courier-1"
        jumpy.steady = True
        desk.tick()

        assert read(app, made).error_class == "WORKER_LOST"


def test_what_was_accepted_is_marked_although_others_have_taken_it_over(open_app, clock):
    app = open_app(Clerk())
    (made,) = deliver(app)
    desk = Desk(app)
    desk.tick()
    begun = read(app, made)
    terms = next(iter(app.dispatch.providers)).terms
    clock.advance(31)
    lost = decide_delivery(begun, CourierLost(), terms, clock.now(), 0.5)
    assert isinstance(lost, Delivery)
    assert app.store.deliveries.apply([lost])
    bound = app.dispatch.providers.chosen(None)
    assert desk.courier._errands.record(begun, Accepted("m-9"), bound)

    marked = read(app, made)
    assert (marked.state, marked.notification_id) == (DeliveryState.SENT, "m-9")


def test_what_a_lost_courier_reports_counts_for_nothing_unless_it_is_a_fact(open_app, clock):
    clerk = Clerk()
    clerk.raises = ProviderError(Verdict("INVALID", retryable=False), "no")
    app = open_app(clerk)
    (made,) = deliver(app)
    desk, other = Desk(app), Desk(app)
    desk.tick()
    clock.advance(15)
    errands = list(desk.waiting)
    clock.advance(16)
    other.tick()
    before = read(app, made)
    for errand in errands:
        errand()

    assert clerk.sent == [], "its lease is over, so that it does not even send"
    assert read(app, made) == before


def test_a_mark_is_written_once_the_database_is_back(tmp_path: Path, clock: ManualClock):
    """The provider has accepted, and somebody else sits on the database at that moment."""
    path = tmp_path / "holdfast.db"
    clerk = Clerk(Promise())
    with Holdfast(f"sqlite:///{path}", providers=[clerk], courier=OPTIONS, clock=clock) as app:
        (made,) = deliver(app)
        desk = Desk(app)
        desk.tick()
        store = SqliteStore(f"sqlite:///{path}", write_timeout_s=0.1)
        store._database._open().execute("pragma busy_timeout = 50")
        desk.courier._errands._store = store
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("begin immediate")
            errand = threading.Thread(target=desk.run)
            errand.start()
            until = time.monotonic() + 10
            while not clerk.sent and time.monotonic() < until:
                time.sleep(0.01)
            assert errand.is_alive(), "it is accepted, and cannot be marked yet"
            writer.execute("commit")
            errand.join(10)

        assert read(app, made).state is DeliveryState.SENT
        store.close()


def test_a_worker_with_providers_and_no_pipelines_carries_deliveries(database_url: str):
    clerk = Clerk(Promise())
    with Holdfast(database_url, providers=[clerk], courier=OPTIONS) as app:
        worker = app.worker(options=WorkerOptions(poll=0.05, sweep=0.05, lease=5, grace=5))
        worker.start()
        made = deliver(app, 5)
        until = time.monotonic() + 20
        while len(clerk.sent) < 5 and time.monotonic() < until:
            time.sleep(0.02)
        assert worker.drain() == 0

        assert sorted(clerk.sent) == sorted(delivery.recipient for delivery in made)
        assert {read(app, each).state for each in made} == {DeliveryState.SENT}


def test_what_a_stage_in_a_child_process_asks_for_reaches_the_worker():
    notify = Notify(
        subject="s",
        recipients=["a@x.test", Recipient("b@x.test", required=False, message={"n": 1})],
        message={"text": 'it\'s "odd"'},
    )
    event = Suspended(Instant(5), (), notify.asked(3))
    frame = json.dumps(child._reply_of(event)).encode()

    assert child.event_from(frame) == event
    bare = Suspended(None)
    assert child.event_from(json.dumps(child._reply_of(bare)).encode()) == bare


class TestUpstream:
    """A provider whose calls go through the breaker of an upstream."""

    breaker = Breaker(consecutive=2, cooldown=30, trials=1, trial_timeout=60, release=0.0)

    @pytest.fixture
    def clerk(self) -> Clerk:
        return Clerk(upstream=Upstream("smtp", breaker=self.breaker))

    @pytest.fixture
    def desk(self, open_app, clerk: Clerk) -> Desk:
        app = open_app(clerk)
        breakers = Breakers(
            app.store,
            worker=WorkerId("w"),
            stages=list(app.dispatch.providers),
            chance=app.chance,
        )
        breakers.refresh(app.clock.now())
        return Desk(app, breakers=breakers)

    def settle(self, desk: Desk) -> None:
        desk.courier._breakers.tick(desk.app.clock.now())

    def test_while_it_is_open_nothing_is_sent_and_no_attempt_is_spent(self, desk, clerk):
        app = desk.app
        forced = UpstreamState("smtp", forced=Gate.OPEN, forced_by="ada")
        app.store.upstreams.save(forced, now=app.clock.now())
        self.settle(desk)
        (made,) = deliver(app)
        desk.tick()

        assert desk.waiting == []
        assert read(app, made) == made

    def test_failures_open_it_and_a_trial_closes_it(self, desk, clerk, clock):
        app = desk.app
        deliver(app, 5)
        clerk.raises = ProviderError(
            Verdict("UPSTREAM_5XX", retryable=True, blames_upstream=True), "503", status_code=503
        )
        desk.tick()
        desk.run()
        self.settle(desk)
        assert app.store.upstreams.get("smtp").gate is Gate.OPEN
        clock.advance(20)
        desk.tick()
        assert desk.waiting == [], "the gate is open: nothing goes through"

        clerk.raises = None
        clock.advance(20)
        self.settle(desk)
        desk.tick()
        assert desk.run() == 1, "one trial for the whole fleet"
        self.settle(desk)
        assert app.store.upstreams.get("smtp").gate is Gate.CLOSED
        desk.tick()
        assert desk.run() == 3

    def test_a_rate_limit_holds_everything_without_spending_attempts(self, desk, clerk, clock):
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
        self.settle(desk)
        clock.advance(59)
        desk.tick()
        assert desk.waiting == []

        clock.advance(2)
        self.settle(desk)
        for _ in range(4):
            desk.tick()
            desk.run()
        assert {read(app, each).state for each in made} == {DeliveryState.SENT}
        assert sorted(read(app, each).attempts for each in made) == [1, 1, 2, 2, 2]

    def test_retries_beyond_the_budget_of_the_upstream_are_put_back_and_cost_nothing(
        self, open_app, clock
    ):
        clerk = Clerk(upstream=Upstream("smtp", retry_budget=0.0))
        app = open_app(clerk, courier=replace(OPTIONS, concurrency=50))
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
        assert 20 - len(put_back) == len(desk.waiting) == int(MOST_RETRIES_SAVED) + 1
        assert {each.attempts for each in put_back} == {1}
        assert {each.run_at for each in put_back} == {clock.now() + HOLD_US}
        assert breakers.watches["smtp"].in_flight == len(desk.waiting)
