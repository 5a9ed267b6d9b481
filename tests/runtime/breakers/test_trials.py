"""How an upstream that failed is tried again, and who may."""

from dataclasses import replace

import pytest

from holdfast import JobState, Upstream
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import StoreUnavailable
from tests.runtime.breakers.calls import FIVE, Unwritable, calling, opened, state_of, turn
from tests.runtime.crew import Crew


def test_after_the_cooldown_one_call_is_tried_and_its_success_closes_it(open_app, gateway):
    app, crew = opened(open_app, gateway)
    gateway.up = True
    crew.clock.advance(30)
    calls = gateway.calls
    crew.claim()

    assert state_of(app).gate is Gate.HALF_OPEN
    assert crew.lane.load() == 1
    crew.lane.run()
    crew.report()
    crew.breakers.tick(crew.clock.now())
    assert gateway.calls == calls + 1
    assert state_of(app).gate is Gate.CLOSED
    for _ in range(3):
        turn(crew)
    assert all(view.state is JobState.COMPLETE for view in app.jobs())


def test_a_failed_trial_opens_it_again_for_longer(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, growth=2.0))
    app, crew = opened(open_app, gateway, upstream)
    crew.clock.advance(30)
    turn(crew)
    state = state_of(app)

    assert state.gate is Gate.OPEN
    assert state.open_until - state.since == 60 * SECOND_US


def test_two_workers_never_try_more_than_the_permits_allow(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, trials=3, successes=3))
    app, crew = opened(open_app, gateway, upstream)
    other = Crew(app, name="w2", seed=2)
    other.breakers.tick(other.clock.now())
    gateway.up = True
    crew.clock.advance(30)
    for each in (crew, other, crew, other):
        each.claim()

    assert crew.lane.load() + other.lane.load() == 3


def test_a_permit_without_a_job_goes_back_at_once(open_app, gateway):
    app, crew = opened(open_app, gateway)
    crew.clock.advance(30)
    permits = crew.breakers.ask_permits("gateway", 1, store=app.store, now=crew.clock.now())
    assert len(permits) == 1
    crew.breakers.give_back("gateway", permits)
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).permits == ()
    assert state_of(app).gate is Gate.HALF_OPEN


def test_the_permit_of_a_worker_that_died_runs_out(open_app, gateway):
    app, crew = opened(open_app, gateway)
    gateway.up = True
    other = Crew(app, name="w2", seed=2)
    crew.clock.advance(30)
    crew.claim()
    assert crew.lane.load() == 1
    crew.clock.advance(FIVE.trial_timeout + 1)
    other.breakers.tick(other.clock.now())
    other.claim()

    assert other.lane.load() == 1


def test_an_answer_to_a_call_begun_before_the_opening_closes_nothing(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=8)
    for _ in range(8):
        app.submit("p")
    crew.breakers.tick(crew.clock.now())
    crew.claim()
    late = crew.lane.waiting.popleft()
    late.begin(crew.clock)
    gateway.up = False
    crew.lane.run(5)
    crew.breakers.tick(crew.clock.now())
    assert state_of(app).gate is Gate.OPEN
    crew.clock.advance(30)
    crew.claim()
    crew.reporter.report(late, "fine", None)
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).gate is not Gate.CLOSED
    assert state_of(app).successes == 0


def test_a_failure_of_a_call_begun_before_the_opening_is_no_evidence_after_the_closing(
    open_app, gateway
):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=20)
    for _ in range(16):
        app.submit("p")
    crew.breakers.tick(crew.clock.now())
    crew.claim()
    late = [crew.lane.waiting.popleft() for _ in range(6)]
    for attempt in late:
        attempt.begin(crew.clock)
    gateway.up = False
    crew.lane.run(5)
    crew.breakers.tick(crew.clock.now())
    crew.lane.run()
    crew.report()
    gateway.up = True
    crew.clock.advance(30)
    turn(crew)
    assert state_of(app).gate is Gate.CLOSED
    for attempt in late:
        crew.reporter.report(attempt, None, ConnectionError("refused"))
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).gate is Gate.CLOSED
    assert state_of(app).samples == ()


def test_permits_for_which_no_job_was_due_are_given_back(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, trials=3, successes=3))
    app, crew = opened(open_app, gateway, upstream, jobs=5)
    for view in app.jobs()[1:]:
        app.cancel(view.id, by="ada")
    crew.clock.advance(30)
    crew.claim()
    crew.breakers.tick(crew.clock.now())

    assert crew.lane.load() == 1
    assert len(state_of(app).permits) == 1


def test_a_permit_that_ran_out_lets_no_call_through(open_app, gateway):
    _, crew = opened(open_app, gateway)
    gateway.up = True
    crew.clock.advance(30)
    crew.claim()
    assert crew.lane.load() == 1
    crew.clock.advance(FIVE.trial_timeout)
    crew.breakers.refresh(crew.clock.now())
    calls = gateway.calls
    crew.lane.run()

    assert gateway.calls == calls


def test_a_permit_is_given_out_once_also_to_the_same_worker(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, trials=3, successes=3))
    app, crew = opened(open_app, gateway, upstream)
    crew.clock.advance(30)
    now = crew.clock.now()
    asked = [crew.breakers.ask_permits("gateway", 1, store=app.store, now=now) for _ in range(4)]

    assert [len(permits) for permits in asked] == [1, 1, 1, 0]
    assert len({permit.number for permits in asked for permit in permits}) == 3


def test_no_trial_that_ended_while_the_store_was_away_is_forgotten(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, trials=2, successes=2))
    app, crew = opened(open_app, gateway, upstream)
    store = crew.breakers._store = Unwritable(app.store)
    gateway.up = True
    crew.clock.advance(30)
    crew.claim()
    crew.lane.run()
    store.down = True
    with pytest.raises(StoreUnavailable):
        crew.breakers.tick(crew.clock.now())
    store.down = False
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).gate is Gate.CLOSED


def test_fail_fast_recovers_by_trials_too(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, mode="fail_fast"))
    app, crew = opened(open_app, gateway, upstream, jobs=5)
    gateway.up = True
    crew.clock.advance(30)
    app.submit("p")
    for _ in range(3):
        turn(crew)

    assert state_of(app).gate is Gate.CLOSED


def test_a_probe_stands_in_for_trial_jobs(open_app, gateway):
    asked = []

    def probe() -> None:
        asked.append(1)

    app, crew = opened(open_app, gateway, Upstream("gateway", breaker=FIVE, probe=probe))
    calls = gateway.calls
    crew.clock.advance(30)
    crew.claim()
    assert crew.lane.load() == 0
    crew.breakers.wake.clear()
    crew.breakers.tick(crew.clock.now())
    assert crew.breakers.wake.wait(5)
    crew.breakers.tick(crew.clock.now())

    assert asked == [1]
    assert gateway.calls == calls
    assert state_of(app).gate is Gate.CLOSED


def test_a_probe_that_raises_leaves_it_open(open_app, gateway):
    def probe() -> None:
        raise ConnectionError("still down")

    app, crew = opened(open_app, gateway, Upstream("gateway", breaker=FIVE, probe=probe))
    crew.clock.advance(30)
    crew.breakers.wake.clear()
    crew.breakers.tick(crew.clock.now())
    assert crew.breakers.wake.wait(5)
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).gate is Gate.OPEN
