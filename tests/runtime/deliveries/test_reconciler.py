"""Marks are compared with what providers know: slowly, in turn, and not beyond reason."""

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast import Holdfast
from holdfast.core.values.instant import SECOND_US
from holdfast.deliveries import CourierOptions, DeliveryState, Promise
from holdfast.runtime.deliveries.reconciler import (
    KEPT_US,
    MAX_MISSING,
    UNKNOWN_EVERY_US,
    Reconciler,
)
from holdfast.testing import ManualClock, drain
from tests.engine.mailbox import Mailbox

LOOKUP = Promise(lookup_lag=5)
OPTIONS = CourierOptions(timeout=10, lease=30, reconcile_every=60, reconcile_batch=4)


@pytest.fixture
def mailbox(clock: ManualClock) -> Mailbox:
    return Mailbox(clock, LOOKUP)


@pytest.fixture
def open_for(open_app) -> Callable[..., Holdfast]:
    """Opens an app whose deliveries go through these providers."""

    def open_one(*providers, **options) -> Holdfast:
        return open_app(providers=providers, **{"courier": OPTIONS, **options})

    return open_one


def reconciler_of(app: Holdfast, options: CourierOptions = OPTIONS) -> Reconciler:
    return Reconciler(
        app.store,
        dispatch=replace(app.dispatch, options=options),
        clock=app.clock,
        chance=app.chance,
        start=lambda check: check(),
    )


def told(app: Holdfast, count: int) -> None:
    """Have so many recipients told, and let a while pass."""
    recipients = [f"{number}@example.test" for number in range(count)]
    app.deliver("s", recipients=recipients, message={})
    drain(app)
    app.clock.advance(120)


def turns(app: Holdfast, reconciler: Reconciler, count: int) -> None:
    for _ in range(count):
        reconciler.tick(app.clock.now())


def checked(app: Holdfast) -> int:
    return sum(view.delivery.checked_at is not None for view in app.deliveries.find())


def test_every_mark_is_confirmed_once_one_lookup_a_turn(open_for, mailbox):
    app = open_for(mailbox)
    told(app, 10)
    reconciler = reconciler_of(app)

    for number in range(1, 11):
        reconciler.tick(app.clock.now())
        assert checked(app) == number
    turns(app, reconciler, 5)
    assert len(mailbox.lookups) == 10


def test_lookups_are_spread_over_time(open_for, mailbox, clock):
    app = open_for(mailbox)
    told(app, 10)
    reconciler = reconciler_of(app)

    waits = [reconciler.tick(clock.now()) - clock.now() for _ in range(3)]
    assert all(0.75 * 15 * SECOND_US <= wait <= 1.25 * 15 * SECOND_US for wait in waits)
    turns(app, reconciler, 10)
    assert reconciler.tick(clock.now()) - clock.now() >= 0.75 * 60 * SECOND_US


def test_marks_are_left_alone_while_they_are_young_and_when_they_are_old(open_for, mailbox, clock):
    app = open_for(mailbox)
    app.deliver("s", recipients=["young@example.test"], message={})
    drain(app)
    reconciler = reconciler_of(app)
    turns(app, reconciler, 3)
    assert mailbox.lookups == []

    clock.advance(KEPT_US / SECOND_US + 1)
    turns(app, reconciler, 3)
    assert mailbox.lookups == []


def test_a_mark_without_evidence_is_cleared_and_sent_again(open_for, mailbox, caplog):
    app = open_for(mailbox)
    told(app, 2)
    first = mailbox.sends[0]
    del mailbox._accepted[first]
    with caplog.at_level(logging.CRITICAL):
        turns(app, reconciler_of(app), 4)
    drain(app)

    assert [record.event for record in caplog.records] == ["ordering_broken"]
    assert len(mailbox.sends) == 3
    assert {view.state for view in app.deliveries.find()} == {DeliveryState.SENT}


def test_a_lookup_that_finds_nothing_at_all_is_doubted_before_everything_is_sent_again(
    open_for, mailbox, caplog
):
    app = open_for(mailbox)
    told(app, 12)
    mailbox.forgets = True
    reconciler = reconciler_of(app)
    with caplog.at_level(logging.CRITICAL):
        turns(app, reconciler, 30)

    intents = [view for view in app.deliveries.find() if view.state is DeliveryState.INTENT]
    assert len(intents) == MAX_MISSING
    assert caplog.records[-1].event == "reconciliation_stopped"


def test_what_is_unknown_is_asked_about_now_and_then(open_for, mailbox, clock):
    app = open_for(mailbox)
    mailbox.next.append("accepted, no answer")
    mailbox.lookups_down = True
    told(app, 1)
    reconciler = reconciler_of(app)
    clock.advance(7200)
    before = len(mailbox.lookups)
    turns(app, reconciler, 3)
    assert len(mailbox.lookups) == before + 1

    mailbox.lookups_down = False
    turns(app, reconciler, 3)
    assert len(mailbox.lookups) == before + 1
    clock.advance(UNKNOWN_EVERY_US / SECOND_US)
    turns(app, reconciler, 1)
    assert [view.state for view in app.deliveries.find()] == [DeliveryState.SENT]
    assert len(mailbox.messages) == 1


def test_marks_that_cannot_be_confirmed_do_not_keep_the_others_waiting(open_for, mailbox):
    app = open_for(mailbox)
    told(app, 10)
    down = mailbox.lookup

    def partly(*, token, notification_id, timeout_s):
        mailbox.lookups_down = token in mailbox.sends[:5]
        return down(token=token, notification_id=notification_id, timeout_s=timeout_s)

    mailbox.lookup = partly
    turns(app, reconciler_of(app), 20)

    assert checked(app) == 5


def test_it_can_be_turned_off_and_needs_a_provider_that_can_be_asked(open_for, mailbox, clock):
    silent = Mailbox(clock, Promise(dedupes_for=100), name="silent")
    app = open_for(mailbox, silent)
    app.deliver("s", recipients=["a@x.test"], message={}, provider="silent")
    app.deliver("s", recipients=["b@x.test"], message={}, provider="mail")
    drain(app)
    clock.advance(120)
    turns(app, reconciler_of(app, replace(OPTIONS, reconcile_batch=0)), 3)
    assert mailbox.lookups == []
    turns(app, reconciler_of(app), 3)

    assert (len(mailbox.lookups), silent.lookups) == (1, [])


def test_one_lookup_is_under_way_at_a_time(open_for, mailbox):
    app = open_for(mailbox)
    told(app, 3)
    waiting = []
    reconciler = Reconciler(
        app.store,
        dispatch=app.dispatch,
        clock=app.clock,
        chance=app.chance,
        start=waiting.append,
    )
    turns(app, reconciler, 3)
    assert len(waiting) == 1
    waiting.pop()()
    turns(app, reconciler, 1)
    assert len(waiting) == 1


def test_an_answer_that_makes_no_sense_says_nothing(open_for, mailbox):
    app = open_for(mailbox)
    told(app, 1)
    mailbox.lookup = lambda **_: object()
    turns(app, reconciler_of(app), 3)

    assert checked(app) == 0
    assert [view.state for view in app.deliveries.find()] == [DeliveryState.SENT]
