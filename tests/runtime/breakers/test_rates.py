"""How many calls an upstream with a rate gets from all workers together, and what waits."""

from dataclasses import replace

import httpx
import pytest

from holdfast import Breaker, Holdfast, JobState, Pipeline, Rate, Retry, Upstream
from holdfast.core.upstream.rate import VALID_US
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidPolicy, StoreUnavailable
from holdfast.testing import run_inline
from tests.runtime.breakers.calls import FIVE, Gateway, calling, opened, state_of, turn
from tests.runtime.crew import Crew

THREE = Rate(3, per=1, burst=3)


class Timed(Gateway):
    """An upstream that notes when it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = None
        self.at: list[int] = []

    def call(self) -> str:
        self.at.append(self.clock.now())
        return super().call()

    def excess(self, rate: Rate) -> float:
        """Return by how many calls a rate was passed in the worst span."""
        worst, full_at = 0.0, 0
        for at in self.at:
            full_at = max(full_at, at) + rate.interval_us
            worst = max(worst, (full_at - at) / rate.interval_us - rate.at_once)
        return worst


@pytest.fixture
def gateway() -> Timed:
    return Timed()


@pytest.fixture
def start(open_app, gateway):
    """Makes an app whose jobs call an upstream with a rate, and as many workers as wanted."""

    def make(rate: Rate, *, workers: int = 1, jobs: int = 20, **policies):
        app = open_app(calling(gateway, Upstream("gateway", rate=rate, **policies)))
        gateway.clock = app.clock
        crews = [Crew(app, name=f"w{number}", seed=number) for number in range(workers)]
        for crew in crews:
            crew.renew()
        for _ in range(jobs):
            app.submit("p")
        return app, crews

    return make


def run(crews: list[Crew], seconds: float, *, step: float = 0.01) -> None:
    """Let workers take turns for a while; services tick as often as they want at least."""
    for number in range(round(seconds / step)):
        for crew in crews:
            crew.work()
            if number % 20 == 0:
                crew.breakers.tick(crew.clock.now())
        crews[0].clock.advance(step)


def bucket_of(app: Holdfast):
    return app.store.upstreams.bucket("gateway")


def test_a_fleet_makes_as_many_calls_as_the_rate_allows_and_no_more(start, gateway):
    _, crews = start(THREE, workers=4, jobs=60)
    run(crews, 8)

    assert gateway.excess(THREE) <= 0
    assert len(gateway.at) >= 3 + 0.9 * 3 * 8 - 1


def test_what_has_no_room_waits_in_its_queue_and_nothing_is_written_about_it(start, gateway):
    app, crews = start(THREE, jobs=10)
    run(crews, 0.3)

    assert gateway.calls == 3
    waiting = [view for view in app.jobs(limit=50) if view.state is JobState.QUEUED]
    assert len(waiting) == 7
    assert {view.job.attempt for view in waiting} == {0}
    assert all(not app.store.ledger(view.id) for view in waiting)


def test_jobs_that_wait_for_room_say_so_and_are_labelled_held(start):
    app, crews = start(THREE, jobs=10)
    run(crews, 0.3)

    waiting = next(view for view in app.jobs(limit=50) if view.state is JobState.QUEUED)
    (why,) = app.waiting(waiting)
    assert why.reason == "rate"
    assert why.sentence == (
        "Held: upstream gateway takes 3 calls in 1 s, 3 at once, and others are before it. "
        "Waiting costs no attempt."
    )
    assert len(app.held_jobs()) == 7


def test_a_job_of_an_upstream_with_room_is_not_held(start):
    app, crews = start(THREE, jobs=2)
    run(crews, 3)
    app.submit("p")

    assert app.held_jobs() == []


def test_the_claimer_sleeps_until_there_is_room(start):
    _, (crew,) = start(Rate(2, per=1, burst=1), jobs=3)
    crew.work()

    assert 500_000 <= crew.claim() <= 570_000


def test_a_slice_lasts_for_many_jobs(start, gateway):
    _, (crew,) = start(Rate(1_000, burst=400), jobs=50)
    crew.store.calls.clear()
    for _ in range(20):
        crew.work()

    assert gateway.calls == 50
    assert bucket_of(crew.app).granted == 1


def test_other_jobs_of_the_worker_go_on(open_app, gateway):
    quick = Pipeline("quick")

    @quick.stage
    def only(_job) -> str:
        return "done"

    app = open_app(calling(gateway, Upstream("gateway", rate=THREE)), quick)
    gateway.clock = app.clock
    crew = Crew(app, limit=5)
    jobs = [app.submit("quick") for _ in range(20) if app.submit("p")]
    for _ in range(10):
        crew.work()
        crew.clock.advance(0.01)

    assert {job.get().state for job in jobs} == {JobState.COMPLETE}
    assert gateway.calls == 3


def test_nobody_without_a_job_asks_for_calls(start):
    app, crews = start(THREE, workers=3, jobs=0)
    run(crews, 1)

    assert bucket_of(app).revision == 0


def test_calls_for_which_there_was_no_job_go_back_to_the_others(start, gateway):
    app, (first, second) = start(Rate(2, burst=1), workers=2, jobs=1)
    # The job is gone between the look and the claim.
    first.store.skip("claim", [])
    first.claim()
    assert bucket_of(app).slices == ()
    second.work()

    assert gateway.calls == 1


def test_a_worker_that_dies_with_a_slice_takes_it_along_for_a_second(start, gateway):
    app, (first, second) = start(Rate(10, burst=1), workers=2, jobs=5)
    first.claim()
    assert len(bucket_of(app).slices) == 1
    second.work()
    assert gateway.calls == 0

    second.clock.advance(VALID_US / SECOND_US + 0.2)
    second.work()
    assert gateway.calls == 1
    assert bucket_of(app).lapsed == 1


def test_an_attempt_that_begins_after_its_slice_has_ended_is_handed_back(start, gateway):
    app, (crew,) = start(THREE, jobs=1)
    crew.claim()
    crew.clock.advance(VALID_US / SECOND_US)
    crew.lane.run()
    crew.report()

    assert gateway.calls == 0
    (view,) = app.jobs(limit=5)
    assert (view.state, view.job.attempt) == (JobState.QUEUED, 0)
    (line,) = (each for each in app.history(view.id) if each.event == "held")
    assert line.meta["reason"] == "RATE"
    crew.clock.advance(1)
    turn(crew)
    assert gateway.calls == 1


def test_a_stage_after_another_waits_for_its_turn_as_well(open_app, gateway):
    upstream = Upstream("gateway", rate=Rate(1, burst=1))
    pipeline = Pipeline("p")

    @pipeline.stage
    def one(_job) -> str:
        return "ready"

    @pipeline.stage(calls=upstream)
    def two(_job) -> str:
        return gateway.call()

    app = open_app(pipeline)
    gateway.clock = app.clock
    crew = Crew(app)
    jobs = [app.submit("p") for _ in range(3)]
    for _ in range(10):
        crew.work()

    assert gateway.calls == 1
    events = {line.event for job in jobs for line in app.history(job.id)}
    assert "held" not in events


def test_a_pause_that_the_upstream_asked_for_goes_before_the_rate(start, gateway):
    request = httpx.Request("POST", "http://127.0.0.1/")
    response = httpx.Response(429, headers={"Retry-After": "20"}, request=request)
    gateway.raises = httpx.HTTPStatusError("429", request=request, response=response)
    _, crews = start(THREE, workers=2, jobs=10)
    gateway.up = False
    crews[0].claim()
    crews[0].lane.run(1)
    crews[0].report()
    crews[0].breakers.tick(crews[0].clock.now())
    crews[1].breakers.tick(crews[1].clock.now())
    gateway.up = True
    run(crews, 5)

    assert gateway.calls == 1
    run(crews, 18, step=0.05)
    assert gateway.calls > 1
    assert gateway.excess(THREE) <= 0


def test_trials_keep_to_the_rate(open_app, gateway):
    rate = Rate(1, per=10, burst=1)
    upstream = Upstream("gateway", breaker=replace(FIVE, consecutive=1, trials=5), rate=rate)
    gateway.clock = None
    gateway.call = lambda: Gateway.call(gateway)
    app, crew = opened(open_app, gateway, upstream)
    calls = gateway.calls
    gateway.up = True
    crew.clock.advance(30)
    turn(crew)

    assert gateway.calls == calls + 1
    assert state_of(app).gate is Gate.CLOSED
    turn(crew)
    assert gateway.calls == calls + 1


def test_a_trial_without_room_gives_its_permit_back(open_app, gateway):
    upstream = Upstream("gateway", breaker=FIVE, rate=Rate(1_000, burst=100))
    gateway.call = lambda: Gateway.call(gateway)
    app, crew = opened(open_app, gateway, upstream)
    gateway.up = True
    crew.clock.advance(30)
    crew.claim()
    assert len(state_of(app).permits) == 1
    crew.clock.advance(VALID_US / SECOND_US)
    crew.lane.run()
    crew.report()
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).permits == ()
    turn(crew)
    assert state_of(app).gate is Gate.CLOSED


def test_a_probe_is_a_call_of_the_rate(open_app, gateway):
    probes: list[int] = []
    upstream = Upstream(
        "gateway",
        breaker=replace(FIVE, consecutive=1),
        rate=Rate(1, per=100, burst=1),
        probe=lambda: probes.append(1),
    )
    gateway.call = lambda: Gateway.call(gateway)
    app, crew = opened(open_app, gateway, upstream, jobs=1)
    crew.clock.advance(40)
    crew.breakers.tick(crew.clock.now())

    assert probes == []
    assert state_of(app).permits == ()


def test_without_the_store_nothing_is_called(start, gateway):
    _, (crew,) = start(THREE, jobs=3)
    crew.store.refuse("claim")
    rows = crew.app.store.upstreams
    crew.store.refuse("next_due")

    with pytest.raises(StoreUnavailable):
        crew.claim()
    assert gateway.calls == 0
    assert rows.bucket("gateway").revision == 0


def test_a_job_that_failed_waits_for_room_before_it_is_tried_again(start, gateway):
    _, crews = start(THREE, jobs=1, retry=Retry(attempts=50, base=0, cap=0, jitter="none"))
    gateway.up = False
    run(crews, 4)

    assert len(gateway.at) > 6
    assert gateway.excess(THREE) <= 0


def test_two_declarations_of_one_name_must_have_the_same_rate(open_app, gateway):
    app = open_app(
        calling(gateway, Upstream("gateway", rate=THREE)),
        calling(gateway, Upstream("gateway"), name="q"),
    )

    with pytest.raises(Exception, match="declared twice"):
        Crew(app)


def test_a_rate_is_checked_where_the_upstream_is_declared():
    with pytest.raises(InvalidPolicy, match="rate"):
        Upstream("gateway", rate=3)


def test_what_runs_inline_waits_by_the_clock_of_the_test(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", rate=THREE)))
    gateway.clock = app.clock
    jobs = [app.submit("p") for _ in range(9)]
    run_inline(app, advance=True)

    assert {job.get().state for job in jobs} == {JobState.COMPLETE}
    assert gateway.excess(THREE) <= 0
    assert gateway.at[-1] - gateway.at[0] >= 6 * THREE.interval_us


def test_an_upstream_with_a_breaker_and_a_rate_has_both(start, gateway):
    app, crews = start(THREE, workers=2, jobs=30, breaker=Breaker(consecutive=4, release=0))
    gateway.up = False
    run(crews, 4)

    assert state_of(app).gate is Gate.OPEN
    assert 4 <= gateway.calls <= 8
    assert gateway.excess(THREE) <= 0


def test_other_fleets_are_told_of_as_many_jobs_as_they_may_call_soon(start):
    _, (crew,) = start(Rate(100, burst=20), jobs=0)
    now = crew.clock.now()

    assert crew.breakers.announced(now, places=10)["gateway"].limit == 220
    _, (slow,) = start(Rate(100, burst=20), jobs=0, concurrency=4)
    assert slow.breakers.announced(now, places=10)["gateway"].limit == 4


def test_jobs_that_fail_fast_do_not_wait_for_a_turn_to_do_so(start, gateway):
    breaker = Breaker(consecutive=1, minimum_workers=1, cooldown=600, mode="fail_fast")
    app, (crew,) = start(Rate(1, per=60, burst=1), jobs=5, breaker=breaker, retry=Retry(attempts=1))
    gateway.up = False
    turn(crew)
    assert state_of(app).gate is Gate.OPEN
    turn(crew)
    turn(crew)

    assert gateway.calls == 1
    assert {view.state for view in app.jobs(limit=9)} == {JobState.FAILED}


def test_while_there_is_no_room_jobs_that_end_make_nobody_look(start):
    app, (crew,) = start(Rate(2, per=60, burst=1), jobs=5)
    crew.work()
    crew.claim()
    revision = bucket_of(app).revision
    crew.store.calls.clear()
    for _ in range(10):
        crew.claim()

    # One look of each turn, for jobs that do not wait.
    assert crew.store.calls.count("next_due") == 10
    assert "claim" not in crew.store.calls
    assert bucket_of(app).revision == revision
