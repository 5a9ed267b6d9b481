"""Couriers that die, stand still or are lied to: judged by the provider's own ledger alone."""

import itertools
import random
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from holdfast.deliveries import DeliveryFilter, Promise
from holdfast.runtime.kernel.failpoint import OF_DELIVERIES
from tests.crash.fleet import Fleet, eventually
from tests.crash.office import LAG_S, OPEN, PROMISES, Office
from tests.crash.postbox import GOOD, WORSE, Postbox, posted_to
from tests.crash.sampling import on_both_databases, slow


@pytest.fixture
def office(fleet: Fleet, postbox: Postbox) -> Iterator[Callable[[Promise], Office]]:
    made: list[Office] = []

    def make(promise: Promise) -> Office:
        made.append(Office(fleet, postbox, promise))
        return made[-1]

    yield make
    for each in made:
        each.app.close()


@pytest.mark.parametrize("promise", [slow("both"), "lookup", slow("dedupes"), "neither"])
@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(OF_DELIVERIES, quick_on_sqlite={"send.after"}),
    indirect=["database_url"],
)
def test_a_courier_killed_at_any_step_of_a_send_tells_nobody_twice_and_forgets_nobody(
    office, point: str, promise: str
) -> None:
    it = office(PROMISES[promise])
    it.deliver(3)
    assert it.start(failpoints=f"{point}=kill").ended() == -signal.SIGKILL
    it.start()
    states = it.settled()

    told = it.postbox.told()
    assert max(told.values(), default=0) <= 1, "somebody was told twice"
    if promise == "neither":
        # What was under way when the courier died is for a person; nothing is guessed.
        assert states["sent"] + states["unknown"] == 3
        assert states["sent"] <= len(told)
    else:
        assert states == {"sent": 3}
        assert len(told) == 3
    it.sound()


@pytest.mark.parametrize("point", ["send.after", slow("mark.before"), "mark.after"])
def test_a_job_is_complete_although_the_courier_died_before_it_said_so(office, point: str) -> None:
    it = office(PROMISES["lookup"])
    [job] = it.fleet.submit("notice", to=2)
    assert it.start(failpoints=f"{point}=kill:2").ended() == -signal.SIGKILL
    it.start()

    it.fleet.finished([job])
    assert it.postbox.told() == {"1-0@example.test": 1, "1-1@example.test": 1}
    it.sound()


@pytest.mark.parametrize("how", [*WORSE, "drop"])
@pytest.mark.parametrize("promise", [slow("both"), "lookup", slow("dedupes"), slow("neither")])
def test_a_provider_that_accepts_and_does_not_say_so_is_asked_and_not_sent_to_again(
    office, how: str, promise: str
) -> None:
    it = office(PROMISES[promise])
    it.postbox.plan = {1: how, 3: how}
    it.deliver(4)
    it.start()
    states = it.settled()

    assert max(it.postbox.told().values(), default=0) <= 1
    if promise == "neither":
        assert states == {"sent": 2, "unknown": 2}
        return
    assert states == {"sent": 4}
    assert len(it.postbox.told()) == 4
    if promise == "lookup" and how != "drop":
        assert it.postbox.requests["send"] == 4, "what was accepted is found, not sent again"


@pytest.mark.parametrize("times", [slow(0), 1, slow(3)])
def test_a_lookup_that_lags_is_not_believed_before_the_declared_time(office, times: int) -> None:
    # Slower than it declares, a provider is saved by dropping what it has seen.
    promise = Promise(lookup_lag=LAG_S, dedupes_for=3600 if times > 1 else None)
    it = office(promise)
    it.postbox.lookup_lag_s = times * LAG_S * 0.9
    it.postbox.otherwise = "accept then 500"
    it.deliver(4)
    it.start()
    states = it.settled()

    assert states == {"sent": 4}
    assert set(it.postbox.told().values()) == {1}
    if times <= 1:
        assert it.postbox.requests["send"] == 4


def test_a_lookup_that_is_down_leaves_it_to_a_person_and_nothing_is_sent_again(office) -> None:
    it = office(GOOD)
    it.postbox.otherwise = "accept then reset"
    it.postbox.lookups_down = True
    it.deliver(2)
    it.start()

    assert it.settled() == {"unknown": 2}
    assert it.postbox.requests["send"] == 2
    it.postbox.lookups_down = False
    assert it.app.deliveries.reconcile(rate=100).found == 2
    assert it.states() == {"sent": 2}
    assert set(it.postbox.told().values()) == {1}


def test_a_courier_that_stood_still_does_not_send_what_others_have_taken_over(office) -> None:
    it = office(PROMISES["lookup"])
    recipients = (f"{number}@example.test" for number in itertools.count())
    stopped, _ = it.fleet.stopped_with(
        lambda: it.deliver_to([next(recipients)]),
        "send.before=stop",
        retract=lambda _: None,  # the others send it too
        environment=posted_to(it.postbox, it.promise),
        only="notice",
    )
    it.start()
    assert set(it.settled()) == {"sent"}
    stopped.signal(signal.SIGCONT)
    stopped.said("delivery_dropped")

    assert set(it.postbox.told().values()) == {1}
    assert it.postbox.requests["send"] == len(it.postbox.told())


def test_a_worker_told_to_end_finishes_what_it_sends_and_claims_nothing_more(office) -> None:
    it = office(PROMISES["neither"])
    it.postbox.otherwise = "slow"
    it.deliver(30)
    worker = it.start()
    eventually(lambda: it.postbox.requests["send"] >= 4, what="something is on its way")
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0

    states = it.states()
    assert states["sent"] == len(it.postbox.ledger())
    assert set(states) == {"sent", "intent"}, "nothing is left in doubt"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "promise"),
    [
        slow(40, "both"),
        (40, "lookup"),
        slow(1000, "both"),
        slow(1000, "lookup"),
        slow(1000, "dedupes"),
        slow(1000, "neither"),
    ],
)
@pytest.mark.timeout(600)
def test_under_random_kills_nobody_is_told_twice_and_nobody_is_forgotten(
    office, count: int, promise: str
) -> None:
    it = office(PROMISES[promise])
    chance = random.Random(count)
    # Slow enough that workers die in the middle of something.
    it.postbox.otherwise = "slow"
    for number in range(0, count, 7):
        it.postbox.plan[number] = chance.choice([*WORSE[:2], "busy", "drop"])
    it.deliver(count)
    workers = [it.start() for _ in range(2)]
    kills = 0
    until = time.monotonic() + 500
    while it.app.deliveries.find(DeliveryFilter(states=OPEN), limit=1):
        assert time.monotonic() < until, it.states()
        time.sleep(chance.uniform(0.3, 1.2))
        victim = chance.randrange(len(workers))
        if kills < count // 10:
            workers[victim].signal(signal.SIGKILL)
            workers[victim].ended()
            workers[victim] = it.start()
            kills += 1

    states, told = it.settled(), it.postbox.told()
    assert kills > 0
    assert max(told.values(), default=0) <= 1, "somebody was told twice"
    if promise == "neither":
        assert states["sent"] + states["unknown"] == count
        assert states["sent"] <= len(told)
    else:
        assert states == {"sent": count}
        assert len(told) == count
    it.sound()
