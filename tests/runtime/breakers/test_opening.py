"""What workers do with an upstream that fails, and how the fleet agrees about it."""

from dataclasses import replace

import httpx

from holdfast import JobState, Pipeline, Upstream
from holdfast.core.job.decision import Kind
from holdfast.core.upstream.breaker import ForceAsked, decide_breaker
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US, later, to_rfc3339
from holdfast.runtime.breakers.breakers import OLD_US, SPARE_US, Breakers
from holdfast.runtime.breakers.watch import STALE_US
from holdfast.runtime.kernel.clock import Chance
from tests.runtime.breakers.calls import FIVE, PATIENT, Gateway, calling, opened, state_of, turn
from tests.runtime.crew import Crew


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


def test_nobody_waits_for_the_word_of_a_worker_that_was_stopped(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app)
    crew.keeper.tick(crew.clock.now())
    stopped = crew._describe(crew.clock.now())._replace(id="stopped", state="stopped")
    app.store.record_worker(stopped)
    for _ in range(40):
        app.submit("p")
    gateway.up = False
    turn(crew)

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


def test_the_gate_moves_stand_in_the_audit_log(open_app, gateway):
    app, crew = opened(open_app, gateway)
    gateway.up = True
    crew.clock.advance(30)
    turn(crew)

    entries = app.store.audit.latest(subject_kind="upstream", subject="gateway")
    assert [entry.action for entry in entries] == ["closed", "half-opened", "opened"]
    assert {entry.done_by for entry in entries} == {"holdfast"}
    until = later(entries[-1].at, 30 * SECOND_US)
    assert entries[-1].detail["open_until"] == to_rfc3339(until)


def test_breakers_without_upstreams_ask_the_store_nothing(open_app):
    app = open_app()
    breakers = Breakers(app.store, worker="w", stages=(), chance=Chance(1))

    assert breakers.allowances(app.clock.now(), places=5) == {}


def test_a_failure_is_told_at_once_and_those_right_after_it_together(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=replace(FIVE, consecutive=50))))
    crew = Crew(app, limit=1)
    for _ in range(4):
        app.submit("p")
    gateway.up = False

    crew.breakers.tick(crew.clock.now())
    crew.work()
    assert crew.breakers.wake.is_set()
    crew.breakers.wake.clear()
    assert crew.breakers.tick(crew.clock.now()) == crew.clock.now() + SPARE_US
    told = state_of(app).revision

    crew.work()
    crew.work()
    assert not crew.breakers.wake.is_set()
    crew.clock.advance(SPARE_US / SECOND_US)
    crew.breakers.tick(crew.clock.now())
    assert state_of(app).revision == told + 1
    assert sum(sample.failed for sample in state_of(app).samples) == gateway.calls == 3


def test_after_an_outage_nothing_is_claimed_by_what_was_read_before_it(open_app, gateway):
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE)))
    crew = Crew(app)
    crew.breakers.tick(crew.clock.now())
    app.submit("p")
    before, now = state_of(app), crew.clock.now()
    opened_by_others = decide_breaker(before, ForceAsked(Gate.OPEN, "ada"), FIVE, now)
    app.store.upstreams.save(opened_by_others, now=now)
    crew.clock.advance(OLD_US / SECOND_US + 0.1)

    crew.claim()

    assert crew.lane.load() == 0


def test_the_move_is_stored_with_the_failures_that_made_it(open_app, gateway):
    gateway.raises = ConnectionError("refused, said password=hunter2hunter2")
    app, _ = opened(open_app, gateway)

    state, record = state_of(app), app.upstreams.show("gateway").actions[0]

    assert state.reason == "5 calls in a row failed"
    assert {call.error_class for call in state.failures} == {"NETWORK"}
    assert all("hunter2" not in call.message for call in state.failures)
    assert {call.job_id for call in state.failures} <= {view.id for view in app.jobs()}
    assert len({call.job_id for call in state.failures}) == 5
    assert (record.action, record.reason) == ("opened", state.reason)
    assert record.detail["failures"] == [call.to_document() for call in state.failures]


def test_a_trial_that_fails_is_the_reason_that_it_opened_again(open_app, gateway):
    app, crew = opened(open_app, gateway)
    crew.clock.advance(31)
    gateway.raises = TimeoutError("no answer")
    turn(crew)

    state = state_of(app)

    assert (state.gate, state.reason) == (Gate.OPEN, "a trial call failed")
    assert state.failures[-1].message == "no answer"


def under_way(open_app, gateway, retry):
    """An app with a job whose call was made before the breaker opened, and failed after that."""
    app = open_app(calling(gateway, Upstream("gateway", breaker=FIVE, retry=retry)))
    crew = Crew(app, limit=6)
    slow = app.submit("p")
    for _ in range(5):
        app.submit("p")
    gateway.up = False
    crew.breakers.tick(crew.clock.now())
    crew.claim()
    slow_attempt = crew.lane.waiting.popleft()
    slow_attempt.begin(crew.clock)
    crew.lane.run(5)
    crew.breakers.tick(crew.clock.now())
    assert state_of(app).gate is Gate.OPEN
    crew.reporter.report(slow_attempt, None, ConnectionError("reset"))
    crew.report()
    return app, app.job(slow.id)


def test_a_call_that_was_under_way_when_the_breaker_opened_is_given_back(open_app, gateway):
    app, view = under_way(open_app, gateway, replace(PATIENT, attempts=2))

    assert (view.state, view.job.attempt) == (JobState.QUEUED, 0)
    line = app.history(view.id)[-1]
    assert line.event == Kind.HELD
    assert line.meta["message"] == "reset"
    assert app.verify() == []
    others = [each.job.attempt for each in app.jobs() if each.id != view.id]
    assert others == [1] * 5


def test_what_may_be_tried_once_only_is_not_given_back(open_app, gateway):
    _, view = under_way(open_app, gateway, replace(PATIENT, attempts=1))

    assert view.state is JobState.FAILED
