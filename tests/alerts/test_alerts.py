"""Alerts from end to end: what happens on a real store, told to a real receiver of webhooks."""

import logging

import pytest

from holdfast import Breaker, GiveUp, JobState, Pipeline, Retry, Upstream
from holdfast.alerts import Alerting, AlertKind, AlertOptions
from holdfast.alerts.webhook import WebhookSink
from holdfast.classify import Rule, Verdict
from holdfast.core.values.failure import Category
from holdfast.deliveries import Promise
from holdfast.errors import InvalidValue
from holdfast.testing import Script, drain, run_inline
from holdfast.workers import WorkerOptions
from tests.alerts.conftest import until
from tests.bridges.fake_receiver import SECRET
from tests.bridges.wire import Reply
from tests.engine.mailbox import OPTIONS, Mailbox

CANARY = "hunter2-is-a-secret"


class Denied(Exception):
    pass


class Busy(Exception):
    pass


class WrongKey(Exception):
    pass


RULES = [
    Rule(Denied, Verdict("AUTH_DENIED", retryable=False, category=Category.CRITICAL)),
    Rule(Busy, Verdict("QUOTA", retryable=True, category=Category.CRITICAL)),
    Rule(
        WrongKey,
        Verdict("KEY_REFUSED", retryable=True, category=Category.CRITICAL, spends_attempt=False),
    ),
]


def pipeline_of(script: Script, **options) -> Pipeline:
    pipeline = Pipeline("p", retry=Retry(attempts=2, base=10, jitter="none"))
    pipeline.stage(name="one", rules=RULES, **options)(script.handler)
    return pipeline


def test_a_critical_failure_is_told_signed_and_with_what_to_do(open_app, alerting, told):
    app = open_app(pipeline_of(Script(Denied("the key was revoked"))))
    alerting(app)
    job = app.submit("p")
    drain(app)

    [alert] = told(1)
    assert (alert["kind"], alert["level"]) == ("critical_failure", "critical")
    assert alert["subject"] == "p"
    assert alert["facts"]["job_id"] == job.id
    assert alert["facts"]["error_class"] == "AUTH_DENIED"
    assert alert["runbook"] == "a-failure-is-critical"
    assert alert["more"] == 0


def test_only_the_final_attempt_is_told(open_app, alerting, told, receiver, clock):
    app = open_app(pipeline_of(Script(then=Busy("over quota"))))
    made = alerting(app)
    app.submit("p")
    run_inline(app)
    assert app.jobs()[0].state is JobState.QUEUED
    made.close()
    before = list(receiver[1].handled)
    alerting(app)
    clock.advance(10)
    run_inline(app)

    assert before == []
    assert [alert["facts"]["attempt"] for alert in told(1)] == [2]


def test_jobs_that_stay_queued_until_a_person_acts_are_an_alert_at_once(
    open_app, alerting, told, clock
):
    app = open_app(pipeline_of(Script(*[WrongKey("401")] * 5, {})))
    alerting(app, debounce=3600)
    job = app.submit("p")
    for _ in range(5):
        run_inline(app)
        clock.advance(300)

    [alert] = told(1)
    assert (alert["kind"], alert["level"]) == ("blocked", "critical")
    assert alert["facts"]["error_class"] == "KEY_REFUSED"
    assert alert["runbook"] == "jobs-are-blocked"
    assert job.get().state is JobState.QUEUED
    run_inline(app)
    assert job.get().state is JobState.COMPLETE


def test_an_ordinary_failure_is_told_to_nobody(open_app, alerting, receiver):
    app = open_app(pipeline_of(Script(GiveUp("NOT_PDF"))))
    made = alerting(app)
    app.submit("p")
    drain(app)
    made.close()

    assert receiver[1].handled == []


def counted(made: Alerting) -> int:
    return sum(told.more for told in list(made._debounce._told.values()))


def test_those_like_it_are_counted_and_told_together_later(open_app, alerting, told, clock):
    app = open_app(pipeline_of(Script(then=Denied("revoked"))))
    made = alerting(app, debounce=60)
    for _ in range(5):
        app.submit("p")
    drain(app)
    first = told(1)
    # What is not counted by then would be told as the first of its kind.
    until(lambda: counted(made) == 4)
    clock.advance(61)
    both = told(2)
    clock.advance(61)
    app.submit("p")
    drain(app)
    third = told(3)

    assert [alert["more"] for alert in first] == [0]
    assert both[1]["more"] == 3
    assert third[2]["more"] == 0


def test_one_process_of_the_fleet_tells(open_app, alerting, receiver):
    apps = [open_app(pipeline_of(Script(then=Denied("revoked")))) for _ in range(2)]
    started = [alerting(app, debounce=60) for app in apps]
    for app in apps:
        app.submit("p")
        run_inline(app)
    for made in started:
        made.close()

    assert [document["data"]["kind"] for document in receiver[1].handled] == ["critical_failure"]


def test_a_breaker_that_opens_is_told_and_that_it_closes(open_app, alerting, told):
    gateway = Upstream("gateway", breaker=Breaker(consecutive=1, minimum_workers=1, cooldown=0.1))
    script = Script(ConnectionResetError(), then=1)
    pipeline = Pipeline("p", retry=Retry(attempts=3, base=0.01, jitter="none"))
    pipeline.stage(name="one", calls=gateway)(script.handler)
    app = open_app(pipeline, clock=None)
    alerting(app)
    worker = app.worker(options=WorkerOptions(poll=0.05, sweep=0.05))
    worker.start()
    app.submit("p")
    opened, closed = told(2)[:2]
    worker.request_stop()
    worker.drain()

    assert (opened["kind"], opened["subject"]) == ("breaker_open", "gateway")
    assert opened["facts"]["open_until"].endswith("Z")
    assert opened["message"].startswith(
        "the breaker of gateway has opened: a call failed; the last: NETWORK: "
    )
    assert [call["error_class"] for call in opened["facts"]["failures"]] == ["NETWORK"]
    assert (closed["kind"], closed["level"]) == ("breaker_closed", "info")


def test_what_an_operator_does_to_a_breaker_is_told_with_the_reason(open_app, alerting, told):
    app = open_app(pipeline_of(Script(then=1), calls=Upstream("gateway")))
    alerting(app)
    app.upstreams.force_open("gateway", by="ada", reason="their maintenance")

    [alert] = told(1)
    assert alert["kind"] == "breaker_open"
    assert alert["facts"]["forced_by"] == "ada"
    assert alert["facts"]["forced_reason"] == "their maintenance"


@pytest.fixture
def looking(receiver):
    """Makes what alerts about an app look for deadlines when the test says so."""

    def make(app, **options) -> Alerting:
        chosen = AlertOptions(**{"look_every": 0, **options})
        sink = WebhookSink(f"{receiver[0].url}/hooks", SECRET)
        return Alerting(app, sinks=[sink], options=chosen)

    return make


def test_jobs_near_their_deadline_are_told_once(open_app, looking, receiver, clock):
    app = open_app(pipeline_of(Script(then=1)))
    at_risk = app.submit("p", deadline=1000, delay=3600)
    app.submit("p", deadline=5000, delay=3600)
    app.submit("p", delay=3600)
    fleet = [looking(app, deadline_within=60, debounce=1) for _ in range(2)]
    for made in fleet:
        made._turn(())
    early = list(receiver[1].handled)
    clock.advance(950)
    for _ in range(3):
        for made in fleet:
            made._turn(())
        clock.advance(2)

    [alert] = [document["data"] for document in receiver[1].handled]
    assert early == []
    assert (alert["kind"], alert["subject"], alert["facts"]["jobs"]) == ("sla_risk", "p", 1)
    assert alert["facts"]["sample"] == [at_risk.id]


def test_a_short_deadline_is_at_risk_only_when_most_of_it_is_over(
    open_app, looking, receiver, clock
):
    app = open_app(pipeline_of(Script(then=1)))
    app.submit("p", deadline=40, delay=3600)
    made = looking(app, deadline_within=300)
    made._turn(())
    early = list(receiver[1].handled)
    clock.advance(31)
    made._turn(())

    assert early == []
    assert [document["data"]["kind"] for document in receiver[1].handled] == ["sla_risk"]


def test_a_mark_without_evidence_is_told(open_app, alerting, told, clock):
    mailbox = Mailbox(clock, Promise(lookup_lag=1))
    app = open_app(providers=[mailbox], courier=OPTIONS)
    alerting(app)
    app.deliver("review-1", recipients=["ada@x.test"], message={"text": "ready"})
    drain(app)
    mailbox.forgets = True
    clock.advance(3600)
    app.deliveries.reconcile(rate=1000)

    [alert] = told(1)
    assert (alert["kind"], alert["level"]) == ("ordering_broken", "critical")
    assert "ada@x.test" not in str(alert)


def test_a_quota_that_is_used_up_is_told_with_when_it_is_renewed(open_app, alerting, told, clock):
    mailbox = Mailbox(clock, Promise())
    mailbox.next.append("quota used up")
    app = open_app(providers=[mailbox], courier=OPTIONS)
    alerting(app)
    app.deliver("review-1", recipients=["ada@x.test"], message={"text": "ready"})
    run_inline(app)

    [alert] = told(1)
    assert (alert["kind"], alert["level"]) == ("quota_exceeded", "warning")
    assert (alert["subject"], alert["facts"]["window"]) == ("mail", "day")
    assert alert["facts"]["until"].startswith("2026-01-02T00:0")
    assert "ada@x.test" not in str(alert)


def test_what_fails_again_after_a_replay_is_told(open_app, alerting, told):
    app = open_app(pipeline_of(Script(then=GiveUp("NO"))))
    alerting(app)
    job = app.submit("p")
    drain(app)
    app.retry(job.id, by="ada")
    drain(app)

    [alert] = told(1)
    assert (alert["kind"], alert["facts"]["deaths"]) == ("escalated", 2)
    assert alert["facts"]["job_id"] == job.id


def test_no_secret_is_told(open_app, alerting, told, receiver, caplog):
    app = open_app(pipeline_of(Script(Denied(f"password={CANARY}"))), secrets=[CANARY])
    alerting(app)
    app.submit("p", {"token": CANARY})
    drain(app)
    told(1)

    assert CANARY not in receiver[0].requests[0].body.decode()
    assert CANARY not in str([vars(record) for record in caplog.records])


def test_what_an_operator_gives_as_a_reason_is_told_without_its_secrets(
    open_app, alerting, told, receiver
):
    app = open_app(pipeline_of(Script(then=1), calls=Upstream("gateway")), secrets=[CANARY])
    alerting(app)
    app.upstreams.force_open("gateway", by="ada", reason=f"their key {CANARY} leaked")
    told(1)

    assert CANARY not in receiver[0].requests[0].body.decode()


def test_every_alert_is_in_the_log_as_well(open_app, alerting, told, caplog):
    app = open_app(pipeline_of(Script(Denied("revoked"))))
    alerting(app)
    app.submit("p")
    drain(app)
    told(1)

    [line] = [record for record in caplog.records if getattr(record, "event", "") == "alert"]
    assert (line.name, line.levelno) == ("holdfast.alert", logging.CRITICAL)
    assert (line.alert, line.subject, line.runbook) == (
        "critical_failure",
        "p",
        "a-failure-is-critical",
    )


def test_a_receiver_that_fails_once_is_told_again_under_the_same_id(
    open_app, alerting, told, receiver
):
    api, ledger = receiver
    answers = iter([Reply(503), None])
    honest = api.answer
    api.answer = lambda request: next(answers, None) or honest(request)
    app = open_app(pipeline_of(Script(Denied("revoked"))))
    alerting(app)
    app.submit("p")
    drain(app)
    told(1)

    ids = [request.headers["webhook-id"] for request in api.requests]
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert len(ledger.handled) == 1


def test_a_receiver_that_is_away_holds_up_no_job_and_is_named_in_the_log(open_app, caplog):
    app = open_app(pipeline_of(Script(Denied("revoked"), then=1)))
    sink = WebhookSink("http://127.0.0.1:1/hooks", SECRET)
    alerting = Alerting(app, sinks=[sink], options=AlertOptions(deadline_within=0))
    alerting.start()
    app.submit("p")
    drain(app)
    done = app.submit("p")
    drain(app)
    assert app.job(done.id).state is JobState.COMPLETE
    until(lambda: any(getattr(line, "event", "") == "alert_not_told" for line in caplog.records))
    alerting.close()


def test_every_kind_says_where_to_read_on():
    from holdfast.alerts.alert import RUNBOOK  # noqa: PLC0415 - of this test alone

    assert set(RUNBOOK) == set(AlertKind)


@pytest.mark.parametrize("wrong", [{"debounce": -1}, {"deadline_within": 1e9}, {"look_every": -1}])
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidValue):
        AlertOptions(**wrong)


def test_what_needs_a_person_for_a_while_is_told_once_with_what_to_do(
    open_app, alerting, told, clock, receiver
):
    app = open_app(pipeline_of(Script({})))
    made = alerting(app, debounce=0, attention_after=60)
    app.submit("p")
    until(lambda: bool(made._needs))
    assert receiver[1].handled == []
    clock.advance(61)

    [alert] = told(1)
    assert (alert["kind"], alert["level"]) == ("attention", "critical")
    assert alert["runbook"] == "something-needs-a-person"
    assert "nobody runs it. No live worker serves queue default." in alert["message"]
    assert alert["facts"]["kind"] == "no_worker"
    assert alert["facts"]["whose"] == "operator"
    assert alert["facts"]["command"] == "holdfast -A module:app worker --queues default"

    clock.advance(600)
    app.pause_queue("default", by="ada", reason="a drill")
    until(lambda: "queue_paused:default" in made._needs)
    clock.advance(61)
    assert [each["facts"]["kind"] for each in told(2)] == ["no_worker", "queue_paused"]


def test_what_needs_nobody_any_more_is_not_told(open_app, alerting, receiver, clock):
    app = open_app(pipeline_of(Script({})))
    made = alerting(app, debounce=0, attention_after=60)
    job = app.submit("p")
    until(lambda: bool(made._needs))
    app.cancel(job.id, by="ada")
    until(lambda: not made._needs)
    clock.advance(61)
    made.close()

    assert receiver[1].handled == []
