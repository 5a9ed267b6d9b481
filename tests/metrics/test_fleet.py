"""What the store knows of the fleet, in figures."""

import pytest

from holdfast import GiveUp, Holdfast, Pipeline, Rate, Retry, Upstream, UserError, Wait
from holdfast.classify import PublicCode, PublicCodes
from holdfast.errors import ReadTooSlow
from holdfast.metrics import Exposition, Scope
from holdfast.store.statements.statement_timeout import reads_within
from holdfast.testing import Script, drain, run_inline
from tests.store.copies import Copies, copy

CODES = PublicCodes(
    {name: PublicCode(message="Sorry.") for name in ("GW_4XX", "GW_5XX", "GW_TIMEOUT", "UNKNOWN")},
    mapping={"UPSTREAM_5XX": "GW_5XX", "NETWORK": "GW_5XX", "TIMEOUT": "GW_TIMEOUT"},
    default="UNKNOWN",
)
MANY = 50_000
"""So many jobs are not counted within a millisecond."""


def pipeline_of(script: Script, **options) -> Pipeline:
    pipeline = Pipeline("p", retry=Retry(attempts=2, base=10, jitter="none"))
    pipeline.stage(name="one", **options)(script.handler)
    return pipeline


def test_what_becomes_of_jobs_is_counted(open_app, scrapes, clock):
    app = open_app(pipeline_of(Script(1, ConnectionResetError(), 2, GiveUp("NO"), 3)))
    counted = scrapes(app)
    for _ in range(3):
        app.submit("p")
        drain(app)
    failed = app.job(app.submit("p").id)
    app.cancel(failed.id, by="ada")
    [dead] = [letter.id for letter in app.dead.find()]
    app.retry(dead, by="ada")
    drain(app)

    found = counted.samples(Scope.FLEET)
    assert found["holdfast_jobs_created_total"] == {("p",): 4}
    assert found["holdfast_jobs_completed_total"] == {("p",): 3}
    assert found["jobs_failed_total"] == {("NO", "p"): 1}
    assert found["holdfast_dead_letters_total"] == {("job",): 1}
    assert found["holdfast_jobs_cancelled_total"] == {("p",): 1}
    assert found["manual_retry_total"] == {("p",): 1}
    retries = found["holdfast_retries_scheduled_total"]
    assert retries == {("NETWORK", "NETWORK", "p", "one"): 1}
    assert found["holdfast_attempts_total"] == {
        ("", "completed", "p", "one"): 3,
        ("NETWORK", "retried", "p", "one"): 1,
        ("NO", "failed", "p", "one"): 1,
    }
    assert found["holdfast_dead_letters"][("job",)] == 0


def test_failures_of_a_pipeline_with_public_codes_are_counted_by_them(open_app, scrapes, clock):
    outcomes = GiveUp("NO"), GiveUp("UPSTREAM_5XX"), GiveUp("GW_4XX"), ConnectionResetError(), 1
    script = Script(*outcomes)
    pipeline = Pipeline("p", retry=Retry(attempts=2), public_codes=CODES)
    pipeline.stage(name="one")(script.handler)
    app = open_app(pipeline)
    counted = scrapes(app)
    for _ in range(4):
        app.submit("p")
        drain(app)
    app.submit("p", deadline=5, delay=60)
    drain(app)
    clock.advance(10)
    run_inline(app)

    found = counted.samples(Scope.FLEET)
    assert found["jobs_failed_total"] == {
        ("UNKNOWN", "p"): 1,
        ("GW_5XX", "p"): 1,
        ("GW_4XX", "p"): 1,
        ("GW_TIMEOUT", "p"): 1,
    }
    failed = {labels[0] for labels in found["holdfast_attempts_total"]}
    assert failed == {"", "NO", "NETWORK", "UPSTREAM_5XX", "GW_4XX"}
    # Labels are in the order of their names: the class, the code, pipeline and stage.
    assert found["holdfast_retries_scheduled_total"] == {("NETWORK", "GW_5XX", "p", "one"): 1}


def test_queues_are_told_as_they_stand(open_app, scrapes, clock):
    app = open_app(pipeline_of(Script(then=1)))
    app.submit("p")
    app.submit("p", delay=60)
    app.pause_queue("default", by="ada")
    clock.advance(5)

    found = scrapes(app).samples(Scope.FLEET)
    assert found["queue_depth"] == {("default",): 1}
    assert found["jobs_active"] == {("default",): 0}
    assert found["holdfast_jobs"][("default", "queued")] == 2
    assert found["holdfast_queue_oldest_ready_age_seconds"] == {("default",): 5}
    assert found["holdfast_queue_paused"] == {("default",): 1}


def test_a_queue_that_holds_nothing_is_told_as_empty(open_app, scrapes):
    app = open_app(pipeline_of(Script(then=1)))

    found = scrapes(app).samples(Scope.FLEET)
    text = scrapes(app).text(Scope.FLEET)
    assert found["holdfast_queue_paused"] == {("default",): 0}
    assert 'queue_depth{queue="default"} 0.0' in text
    assert 'jobs_active{queue="default"} 0.0' in text


def test_a_missed_deadline_is_counted_as_a_failure_and_by_itself(open_app, scrapes, clock):
    app = open_app(pipeline_of(Script(then=1)))
    counted = scrapes(app)
    app.submit("p", deadline=5, delay=60)
    clock.advance(10)
    run_inline(app)

    found = counted.samples(Scope.FLEET)
    assert found["holdfast_deadline_missed_total"] == {("p",): 1}
    assert found["jobs_failed_total"] == {("TIMEOUT", "p"): 1}


def waiting_app(open_app, **options) -> Holdfast:
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(lambda job: Wait())
    return open_app(pipeline, **options)


def late_results(counted) -> dict[tuple, float]:
    return counted.samples(Scope.FLEET).get("holdfast_late_results_total", {})


@pytest.mark.parametrize("swept", [False, True], ids=["before the sweeper", "after the sweeper"])
def test_a_result_after_the_deadline_is_counted_once(open_app, scrapes, clock, swept):
    app = waiting_app(open_app)
    counted = scrapes(app)
    job = app.submit("p", deadline=60)
    run_inline(app)
    clock.advance(61)
    if swept:
        run_inline(app)
    app.answer(job.id, "late")
    app.answer(job.id, "later")
    run_inline(app)

    assert job.get().late_result == "late"
    assert late_results(counted) == {("p",): 1}


def test_neither_a_result_in_time_nor_one_after_a_cancel_counts_as_late(open_app, scrapes, clock):
    app = waiting_app(open_app)
    counted = scrapes(app)
    in_time, cancelled = app.submit("p", deadline=60), app.submit("p", deadline=60)
    run_inline(app)
    clock.advance(60)
    app.answer(in_time.id, 1)
    app.cancel(cancelled.id, by="ada")
    clock.advance(10)
    app.answer(cancelled.id, 1)

    assert app.history(cancelled.id)[-1].event == "late"
    assert late_results(counted) == {}


def test_a_deadline_without_a_result_is_no_late_result(open_app, scrapes, clock):
    app = waiting_app(open_app)
    counted = scrapes(app)
    job = app.submit("p", deadline=60)
    run_inline(app)
    clock.advance(61)
    run_inline(app)

    assert job.get().error["error_class"] == "TIMEOUT"
    assert late_results(counted) == {}


def test_a_job_that_is_refused_is_counted_as_a_failure_and_leaves_no_letter(open_app, scrapes):
    app = open_app(pipeline_of(Script(then=1)))
    counted = scrapes(app)
    app.refuse("p", None, GiveUp("NOT_PDF"))

    found = counted.samples(Scope.FLEET)
    assert found["jobs_failed_total"] == {("NOT_PDF", "p"): 1}
    assert found["holdfast_jobs_created_total"] == {("p",): 1}
    assert found.get("holdfast_dead_letters_total", {}) == {}
    assert found.get("holdfast_attempts_total", {}) == {}


def open_seconds(app, scrapes) -> dict[tuple, float]:
    """Scrape as a process does that has only just started."""
    return scrapes(app).samples(Scope.FLEET).get("holdfast_breaker_open_seconds_total", {})


def test_the_time_breakers_were_open_is_exact_whichever_process_is_scraped_and_when(
    open_app, scrapes, clock
):
    pipeline = pipeline_of(Script(then=1), calls=Upstream("gateway"))
    app = open_app(pipeline)
    app.submit("p")
    before = scrapes(app)
    closed = before.samples(Scope.FLEET)
    app.upstreams.force_open("gateway", by="ada", reason="maintenance")
    clock.advance(30)
    opened = before.samples(Scope.FLEET)
    assert open_seconds(app, scrapes) == {("gateway",): 30}
    clock.advance(12.5)
    app.upstreams.reset("gateway", by="ada")
    clock.advance(30)

    assert closed["holdfast_breaker_state"] == {("gateway",): 0}
    assert opened["holdfast_breaker_state"] == {("gateway",): 2}
    assert opened["holdfast_breaker_open_seconds_total"] == {("gateway",): 30}
    assert open_seconds(app, scrapes) == {("gateway",): 42.5}
    assert open_seconds(open_app(pipeline), scrapes) == {("gateway",): 42.5}
    app.upstreams.force_open("gateway", by="ada", reason="again")
    clock.advance(1)
    app.upstreams.force_closed("gateway", by="ada", reason="over")
    clock.advance(1)
    after = before.samples(Scope.FLEET)
    assert after["holdfast_breaker_open_seconds_total"] == {("gateway",): 43.5}
    assert after["holdfast_breaker_state"] == {("gateway",): 0}


def test_the_rates_of_upstreams_are_told(open_app, scrapes, clock):
    upstream = Upstream("notion", rate=Rate(6, per=2, burst=2))
    app = open_app(pipeline_of(Script(then=1), calls=upstream))
    for _ in range(5):
        app.submit("p")
    counted = scrapes(app)
    before = counted.samples(Scope.FLEET)
    run_inline(app)
    short = counted.samples(Scope.FLEET)
    drain(app)
    clock.advance(10)
    after = counted.samples(Scope.FLEET)

    told = {name: before[f"holdfast_upstream_rate_{name}"] for name in ("room", "short")}
    assert told == {"room": {("notion",): 2}, "short": {("notion",): 0}}
    assert before["holdfast_upstream_rate_limit_per_second"] == {("notion",): 3}
    assert short["holdfast_upstream_rate_short"] == {("notion",): 1}
    assert short["holdfast_upstream_rate_room"] == {("notion",): 0}
    assert after["holdfast_upstream_rate_calls_total"] == {("notion",): 5}
    assert after["holdfast_upstream_rate_short"] == {("notion",): 0}


def test_messages_and_their_age_are_told(open_app, scrapes, clock):
    app = open_app(pipeline_of(Script(then=1)))
    app.publish("note")
    clock.advance(7)

    found = scrapes(app).samples(Scope.FLEET)
    assert found["holdfast_outbox_messages"] == {("pending",): 1, ("failed",): 0}
    assert found["holdfast_outbox_lag_seconds"] == {(): 7}


def test_what_other_processes_did_is_counted_once_and_never_taken_back(
    open_app, scrapes, clock, script_of_two
):
    first, second = (open_app(pipeline_of(script)) for script in script_of_two)
    before = open_app(pipeline_of(Script(then=1)))
    before.submit("p")
    drain(before)
    before.close()
    counted = scrapes(first)
    second.submit("p")
    drain(second)
    second.close()
    seen = counted.samples(Scope.FLEET)["holdfast_jobs_completed_total"]
    clock.advance(40 * 86_400)
    first.submit("p")
    first.purge()
    later = counted.samples(Scope.FLEET)["holdfast_jobs_completed_total"]

    assert seen == {("p",): 1}
    assert later == {("p",): 1}


def test_a_counter_that_must_not_be_missed_is_there_before_it_rises(open_app, scrapes):
    app = open_app(pipeline_of(Script(then=1)))

    text = scrapes(app).text(Scope.FLEET)
    assert 'jobs_failed_total{error_code="AUTH_DENIED",pipeline="p"} 0.0' in text
    attempts = 'error_class="BUG",outcome="failed",pipeline="p",stage="one"'
    assert f"holdfast_attempts_total{{{attempts}}} 0.0" in text
    assert 'holdfast_jobs_completed_total{pipeline="p"} 0.0' in text
    assert 'holdfast_dead_letters_total{kind="job"} 0.0' in text


@pytest.fixture
def script_of_two():
    return Script(then=1), Script(then=1)


def test_those_who_scrape_at_the_same_time_share_one_look(open_app, scrapes):
    app = open_app(pipeline_of(Script(then=1)))
    shared, alone = scrapes(app, fresh_s=3600), scrapes(app, fresh_s=0)
    app.submit("p")

    assert shared.samples(Scope.FLEET)["queue_depth"] == {("default",): 0}
    assert alone.samples(Scope.FLEET)["queue_depth"] == {("default",): 1}


def test_a_queue_that_takes_long_to_count_is_no_store_that_is_away(open_app, scrapes, database_url):
    app = open_app(pipeline_of(Script(then=1)))
    job = app.job(app.submit("p").id).job
    copy(database_url, Copies("job", job.id, MANY, job.created_at // 1000, {"key": "null"}))
    with reads_within(0.001), pytest.raises(ReadTooSlow):
        app.queues()

    with reads_within(0.001):
        samples = scrapes(app).samples(Scope.FLEET)

    assert samples["holdfast_store_up"] == {(): 1}
    assert samples["queue_depth"] == {("default",): MANY + 1}


def test_of_a_store_that_is_away_only_that_is_told():
    app = Holdfast("postgresql://127.0.0.1:1/nowhere", auto_migrate=False)
    exposition = Exposition(app)

    text = exposition.page(scope=Scope.FLEET).body.decode()
    exposition.close()
    app.close()
    assert "holdfast_store_up 0.0" in text
    assert "queue_depth" not in text


def test_an_attempt_that_ends_by_its_senders_mistake_is_counted_and_no_letter_is(open_app, scrapes):
    app = open_app(pipeline_of(Script(UserError("PDF_BROKEN"))))
    counted = scrapes(app)
    app.submit("p")
    drain(app)

    found = counted.samples(Scope.FLEET)
    assert found["jobs_failed_total"] == {("PDF_BROKEN", "p"): 1}
    assert found["holdfast_attempts_total"] == {("PDF_BROKEN", "refused", "p", "one"): 1}
    assert found.get("holdfast_dead_letters_total", {}) == {}
