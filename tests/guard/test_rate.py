"""Calls through a guard with a rate: they wait for their turn, or are not made."""

import threading

import pytest

from holdfast import Breaker, CircuitOpen, Guard, Rate, Retry
from holdfast.errors import InvalidPolicy
from holdfast.testing import ManualClock, Script

TWO = Rate(2, per=1, burst=2)


def test_calls_wait_for_their_turn(guarded, ask, sleeper, clock: ManualClock):
    guard, began = guarded(rate=TWO), []
    start = clock.now()
    for _ in range(6):
        ask(guard, lambda: began.append(clock.now() - start))

    assert began == [0, 0, 500_000, 1_000_000, 1_500_000, 2_000_000]


def test_a_retry_is_a_call_as_any_other(guarded, clock: ManualClock):
    guard = guarded(rate=Rate(1, per=10, burst=1), retry=Retry(attempts=2, base=1, jitter="none"))
    service = Script(ConnectionError(), "fine")
    start = clock.now()

    assert guard.call(service) == "fine"
    assert clock.now() - start == 10_000_000


def test_a_turn_after_the_deadline_is_not_waited_for(guarded, ask, clock: ManualClock):
    guard = guarded(rate=Rate(1, per=10, burst=1), deadline=5)
    ask(guard, lambda: None)
    start = clock.now()

    with pytest.raises(CircuitOpen, match="no room in time") as caught:
        ask(guard, lambda: None)
    assert caught.value.wait_s == 10.0
    assert clock.now() == start
    clock.advance(10)
    assert ask(guard, lambda: "fine") == "fine"


def test_a_failure_tells_more_than_that_there_is_no_room_for_another_try(guarded):
    guard = guarded(
        rate=Rate(1, per=10, burst=1),
        deadline=5,
        retry=Retry(attempts=3, base=1, jitter="none"),
    )

    with pytest.raises(ConnectionError):
        guard.call(Script(then=ConnectionError("refused")))


def test_while_the_breaker_is_open_no_turn_is_used_up(guarded, clock: ManualClock):
    guard = guarded(
        rate=Rate(1, per=10, burst=1), breaker=Breaker(consecutive=1, cooldown=5, release=0)
    )
    with pytest.raises(ConnectionError):
        guard.call(Script(then=ConnectionError()))
    for _ in range(3):
        with pytest.raises(CircuitOpen, match="breaker"):
            guard.call(Script(then="fine"))

    start = clock.now()
    clock.advance(5)
    assert guard.call(Script(then="fine")) == "fine"
    assert clock.now() - start == 10_000_000


def test_threads_share_a_rate():
    waits: list[float] = []
    guard = Guard("payments", rate=Rate(10, per=1, burst=1), sleep=waits.append)
    threads = [threading.Thread(target=guard.call, args=(int,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert max(waits) == pytest.approx(0.7, abs=0.1)
    assert len({round(wait, 1) for wait in waits}) == 8


def test_a_rate_is_checked_where_the_guard_is_made():
    with pytest.raises(InvalidPolicy, match="rate"):
        Guard("payments", rate=2)
