"""What workers do with an upstream that fails, and how the fleet agrees about it."""

from dataclasses import replace

import httpx
import pytest

from holdfast import Holdfast, JobState, Pipeline, Retry, Upstream
from holdfast.core.breaker import ForceAsked, decide_breaker
from holdfast.core.breaker_policy import Breaker
from holdfast.core.decision import Kind
from holdfast.core.instant import SECOND_US
from holdfast.core.upstream import Gate
from holdfast.errors import InvalidPolicy, UsageError
from holdfast.runtime.breakers import Breakers
from holdfast.runtime.clock import Chance
from holdfast.runtime.watch import STALE_US
from tests.runtime.crew import Crew

FIVE = Breaker(consecutive=5, cooldown=30, growth=1, successes=1, release=0)
PATIENT = Retry(attempts=50, base=0, cap=0, jitter="none")


class Gateway:
    """An upstream that is up or down, and counts the calls that reach it."""

    def __init__(self) -> None:
        self.up = True
        self.calls = 0
        self.raises: Exception = ConnectionError("refused")

    def call(self) -> str:
        self.calls += 1
        if not self.up:
            raise self.raises
        return "fine"


def calling(gateway: Gateway, upstream: Upstream, name: str = "p") -> Pipeline:
    pipeline = Pipeline(name, retry=PATIENT)

    @pipeline.stage(calls=replace(upstream, retry=upstream.retry or PATIENT))
    def one(_job) -> str:
        return gateway.call()

    return pipeline


def state_of(app: Holdfast):
    return app.store.upstreams.get("gateway")


def turn(crew: Crew) -> None:
    """One round of a worker: breakers, claim, run, report, breakers."""
    crew.breakers.tick(crew.clock.now())
    crew.work()
    crew.breakers.tick(crew.clock.now())


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


def opened(open_app, gateway, upstream=None, *, jobs=8):
    """An app whose one worker has seen the gateway fail until the breaker opened."""
    app = open_app(calling(gateway, upstream or Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=5)
    for _ in range(jobs):
        app.submit("p")
    gateway.up = False
    turn(crew)
    assert state_of(app).gate is Gate.OPEN
    return app, crew


def test_while_all_is_well_nothing_is_written_about_an_upstream(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app)
    for _ in range(20):
        app.submit("p")
    for _ in range(6):
        turn(crew)

    assert gateway.calls == 20
    assert state_of(app).revision == 0


def test_failures_in_a_row_open_it_and_jobs_stay_queued_without_spending_attempts(
    open_app, gateway
):
    app, crew = opened(open_app, gateway)
    calls = gateway.calls
    before = [view.job.attempt for view in app.jobs()]
    for _ in range(5):
        turn(crew)
        crew.clock.advance(1)

    assert calls == 5
    assert gateway.calls == calls
    assert all(view.state is JobState.QUEUED for view in app.jobs())
    assert [view.job.attempt for view in app.jobs()] == before


def test_a_worker_sleeps_while_all_it_could_claim_is_held(open_app, gateway):
    _, crew = opened(open_app, gateway)

    assert crew.claim() >= 750_000


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


def test_a_job_that_was_claimed_before_the_opening_is_handed_back(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=8)
    jobs = [app.submit("p") for _ in range(8)]
    gateway.up = False
    crew.breakers.tick(crew.clock.now())
    crew.claim()
    crew.lane.run(5)
    crew.breakers.tick(crew.clock.now())
    crew.lane.run()
    crew.report()

    assert gateway.calls == 5
    held = [app.job(job.id) for job in jobs if app.history(job.id)[-1].event == Kind.HELD]
    assert len(held) == 3
    assert all(view.job.attempt == 0 and view.state is JobState.QUEUED for view in held)


def test_an_answer_to_a_call_begun_before_the_opening_closes_nothing(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=8)
    for _ in range(8):
        app.submit("p")
    crew.breakers.tick(crew.clock.now())
    crew.claim()
    late = crew.lane.waiting.popleft()
    late.begin(crew.clock.now())
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
        attempt.begin(crew.clock.now())
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
    upstream = Upstream("gateway", breaker=replace(FIVE, trials=3))
    app, crew = opened(open_app, gateway, upstream, jobs=5)
    for view in app.jobs()[1:]:
        app.cancel(view.id, by="ada")
    crew.clock.advance(30)
    crew.claim()
    crew.breakers.tick(crew.clock.now())

    assert crew.lane.load() == 1
    assert len(state_of(app).permits) == 1


def test_an_upstream_that_refuses_is_alive_and_ends_a_streak(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=1)
    crew.breakers.tick(crew.clock.now())
    for _ in range(12):
        app.submit("p")
    gateway.up = False
    request = httpx.Request("POST", "http://127.0.0.1/")
    refusal = httpx.HTTPStatusError(
        "x", request=request, response=httpx.Response(422, request=request)
    )
    for number in range(9):
        gateway.raises = refusal if number == 4 else ConnectionError("refused")
        crew.claim()
        crew.lane.run(1)
        crew.report()
        crew.breakers.tick(crew.clock.now())

    assert gateway.calls == 9
    assert state_of(app).gate is Gate.CLOSED


def test_a_new_worker_finds_the_breaker_as_it_is(open_app, gateway):
    app, _ = opened(open_app, gateway)
    revision = state_of(app).revision
    calls = gateway.calls
    newcomer = Crew(app, name="w9", seed=9)
    newcomer.breakers.refresh(newcomer.clock.now())
    newcomer.work()
    newcomer.breakers.tick(newcomer.clock.now())

    assert gateway.calls == calls
    assert state_of(app).revision == revision


def test_one_bad_worker_alone_does_not_open_it_for_the_fleet(open_app, gateway):
    rate = Breaker(failure_rate=0.3, over_calls=20, minimum_calls=5)
    app = open_app(calling(gateway, Upstream("gateway", breaker=rate)))
    bad_gateway = Gateway()
    bad_gateway.up = False
    good, bad = Crew(app, name="good"), Crew(app, name="bad", seed=2)
    bad.claimer._handlers = {
        key: replace(stage, call=lambda _: bad_gateway.call())
        for key, stage in bad.claimer._handlers.items()
    }
    for crew in (good, bad):
        crew.keeper.tick(crew.clock.now())
    for _ in range(60):
        app.submit("p")
    for _ in range(12):
        turn(bad)
        turn(good)
        good.clock.advance(0.3)

    assert bad_gateway.calls > 20
    assert state_of(app).gate is Gate.CLOSED


def test_a_lone_worker_opens_it_after_others_had_time_to_speak(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    silent, crew = Crew(app, name="silent"), Crew(app, name="w1")
    silent.keeper.tick(silent.clock.now())
    crew.keeper.tick(crew.clock.now())
    for _ in range(40):
        app.submit("p")
    gateway.up = False
    turn(crew)
    assert state_of(app).gate is Gate.CLOSED
    crew.clock.advance(1.1)
    crew.breakers.tick(crew.clock.now())

    assert state_of(app).gate is Gate.OPEN


def test_fail_fast_fails_jobs_at_once_with_a_public_class(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, mode="fail_fast"))
    app, crew = opened(open_app, gateway, upstream, jobs=5)
    job = app.submit("p")
    crew.clock.advance(1)
    calls = gateway.calls
    for _ in range(3):
        turn(crew)

    assert gateway.calls == calls
    assert app.job(job.id).state is JobState.FAILED
    assert app.job(job.id).job.error_class == "CIRCUIT_OPEN"


def test_fail_fast_recovers_by_trials_too(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, mode="fail_fast"))
    app, crew = opened(open_app, gateway, upstream, jobs=5)
    gateway.up = True
    crew.clock.advance(30)
    app.submit("p")
    for _ in range(3):
        turn(crew)

    assert state_of(app).gate is Gate.CLOSED


def test_a_notice_is_written_and_the_job_is_put_off_past_the_cooldown(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, mode="notice"))
    app, crew = opened(open_app, gateway, upstream, jobs=5)
    job = app.submit("p")
    seen = []
    app.subscribe(seen.append)
    for _ in range(3):
        turn(crew)

    line = app.history(job.id)[-1]
    assert line.event == Kind.HELD
    assert line.meta["reason"] == "CIRCUIT_OPEN"
    assert app.job(job.id).job.run_at > state_of(app).open_until
    assert app.job(job.id).job.attempt == 0
    assert any(item.decision.entry.kind is Kind.HELD for item in seen)


def test_a_429_pauses_the_upstream_for_every_worker_until_its_retry_after(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway")))
    crew, other = Crew(app, limit=1), Crew(app, name="w2", seed=2)
    for _ in range(4):
        app.submit("p")
    gateway.up = False
    gateway.raises = _limited(seconds=20)
    turn(crew)
    assert gateway.calls == 1
    for _ in range(3):
        turn(crew)
        turn(other)

    assert gateway.calls == 1
    assert state_of(app).gate is Gate.CLOSED
    gateway.up = True
    crew.clock.advance(20.1)
    turn(other)
    assert gateway.calls == 5


def _limited(*, seconds: int) -> Exception:
    request = httpx.Request("POST", "http://127.0.0.1/")
    response = httpx.Response(429, headers={"Retry-After": str(seconds)}, request=request)
    return httpx.HTTPStatusError("429", request=request, response=response)


def test_refusals_are_no_evidence_against_an_upstream(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app, limit=10)
    for _ in range(10):
        app.submit("p")
    request = httpx.Request("POST", "http://127.0.0.1/")
    response = httpx.Response(422, request=request)
    gateway.up, gateway.raises = (
        False,
        httpx.HTTPStatusError("x", request=request, response=response),
    )
    turn(crew)

    assert gateway.calls == 10
    assert state_of(app).gate is Gate.CLOSED


def test_after_closing_calls_are_released_in_steps(open_app, gateway):
    upstream = Upstream("gateway", breaker=replace(FIVE, release=10))
    app, crew = opened(open_app, gateway, upstream, jobs=60)
    crew.lane.limit = 20
    gateway.up = True
    crew.clock.advance(30)
    turn(crew)
    assert state_of(app).gate is Gate.CLOSED
    loads = []
    for _ in range(5):
        crew.claim()
        loads.append(crew.lane.load())
        crew.lane.run()
        crew.report()
        crew.breakers.tick(crew.clock.now())
        crew.clock.advance(2.5)

    assert loads[0] == 2
    assert loads == sorted(loads)
    assert loads[-1] >= 20


def test_an_upstream_never_gets_more_calls_at_a_time_than_its_concurrency(open_app, gateway):
    slow = calling(gateway, Upstream("gateway", concurrency=2))
    quick = Pipeline("quick")

    @quick.stage
    def only(_job) -> None:
        pass

    app = open_app(slow, quick)
    crew = Crew(app, limit=6)
    for _ in range(10):
        app.submit("p")
        app.submit("quick")
    crew.claim()
    names = [attempt.job.pipeline for attempt in crew.lane.waiting]

    assert names.count("p") == 2
    assert names.count("quick") == 4
    crew.lane.limit = 20
    crew.claim()
    crew.claim()
    names = [attempt.job.pipeline for attempt in crew.lane.waiting]
    assert names.count("p") == 2
    assert names.count("quick") == 10


def test_retries_are_at_most_a_share_of_first_attempts_and_a_few(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", retry_budget=0.1)))
    crew = Crew(app, limit=50)
    gateway.up = False
    for _ in range(100):
        app.submit("p")
    for _ in range(20):
        turn(crew)
    first = 100

    retries = gateway.calls - first
    assert retries <= 10 + 0.1 * first + 1
    budgets = [
        line
        for view in app.jobs()
        for line in app.history(view.id)
        if line.event == Kind.HELD and line.meta["reason"] == "RETRY_BUDGET"
    ]
    assert budgets


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


def test_without_the_store_the_last_known_state_holds_for_a_while_and_no_longer(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app)
    crew.breakers.tick(crew.clock.now())
    watch = crew.breakers.watches["gateway"]

    assert not watch.held(crew.clock.now())
    crew.clock.advance(STALE_US / SECOND_US + 1)
    assert watch.held(crew.clock.now())
    crew.breakers.tick(crew.clock.now())
    assert not watch.held(crew.clock.now())


def test_an_operator_who_forces_it_open_holds_every_job(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app)
    app.submit("p")
    now = crew.clock.now()
    forced = decide_breaker(state_of(app), ForceAsked(Gate.OPEN, "ada"), FIVE, now)
    app.store.upstreams.save(forced, now=now)
    turn(crew)

    assert gateway.calls == 0


def test_a_job_does_not_go_on_to_a_stage_whose_upstream_is_shut(open_app, gateway):
    pipeline = Pipeline("two", retry=PATIENT)

    @pipeline.stage
    def before(_job) -> int:
        return 1

    @pipeline.stage(calls=Upstream("gateway", breaker=FIVE, retry=PATIENT))
    def one(_job) -> str:
        return gateway.call()

    app = open_app(pipeline)
    crew = Crew(app)
    now = crew.clock.now()
    forced = decide_breaker(state_of(app), ForceAsked(Gate.OPEN, "ada"), FIVE, now)
    app.store.upstreams.save(forced, now=now)
    job = app.submit("two")
    turn(crew)

    assert gateway.calls == 0
    view = app.job(job.id)
    assert (view.state, view.job.stage, view.job.attempt) == (JobState.QUEUED, "one", 0)
    assert app.history(job.id)[-1].event == Kind.ADVANCED


def test_an_upstream_declared_twice_in_different_ways_is_refused(open_app, gateway):
    app = open_app(
        calling(gateway, Upstream("gateway", breaker=FIVE)),
        calling(gateway, Upstream("gateway", breaker=replace(FIVE, cooldown=5)), name="q"),
    )
    with pytest.raises(UsageError, match="declared twice"):
        Crew(app)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retry_budget", -0.1),
        ("retry_budget", 2),
        ("concurrency", 0),
        ("concurrency", True),
        ("probe", print),
    ],
)
def test_terms_that_make_no_sense_are_refused_by_name(field, value):
    with pytest.raises(InvalidPolicy, match=field):
        Upstream("gateway", **{field: value})


def test_the_gate_moves_stand_in_the_audit_log(open_app, gateway):
    app, crew = opened(open_app, gateway)
    gateway.up = True
    crew.clock.advance(30)
    turn(crew)

    entries = app.store.audit.latest(subject_kind="upstream", subject="gateway")
    assert [entry.action for entry in entries] == ["closed", "half-opened", "opened"]
    assert {entry.done_by for entry in entries} == {"holdfast"}


def test_breakers_without_upstreams_ask_the_store_nothing(open_app):
    app = open_app()
    breakers = Breakers(app.store, worker="w", stages=(), chance=Chance(1))

    assert breakers.allowances(app.clock.now(), places=5) == {}
