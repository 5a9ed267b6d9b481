"""A mistake of whoever sent the job: shown to them, counted, and nobody else has to see to it."""

import pytest

from holdfast import JobState, Pipeline, Retry, Upstream, UserError
from holdfast.alerts.sources import of_decision
from holdfast.classify import Rule, Verdict
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.errors import GiveUp, InvalidValue, RetryRefused
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import Script, drain, run_inline

CUT_OFF = UserError("PDF_TRUNCATED", "the file was cut off")


@pytest.fixture
def played(open_app):
    """An app whose one stage plays these outcomes."""

    def open_with(*outcomes, rules=()):
        pipeline = Pipeline("p", retry=Retry(attempts=2, base=10, jitter="none"))
        calls = Upstream("gateway", rules=rules) if rules else None
        pipeline.stage(name="one", calls=calls)(Script(*outcomes).handler)
        return open_app(pipeline)

    return open_with


def run(app):
    job = app.submit("p")
    drain(app)
    return app.job(job.id)


def test_the_job_fails_at_once_with_the_reason(played):
    app = played(CUT_OFF)
    job = run(app)

    assert (job.state, job.job.error_class, job.job.attempt) == (
        JobState.FAILED,
        "PDF_TRUNCATED",
        1,
    )
    assert job.error["user_error"] is True
    assert [(line.event, line.attempt) for line in app.history(job.id)] == [
        ("queued", 0),
        ("processing", 1),
        ("refused", 1),
    ]
    [attempt] = app.attempts(job.id)
    assert (attempt.outcome, attempt.error_class) == ("refused", "PDF_TRUNCATED")


def test_nothing_about_it_waits_for_a_person(played):
    app = played(CUT_OFF)
    run(app)

    assert app.dead.find() == []
    assert app.dead.groups() == []
    assert app.verify() == []


def test_no_alert_is_raised_for_it(played):
    app = played(UserError("BUG", "the worst that it may be called"))
    alerts = []
    app.subscribe(lambda applied: alerts.append(of_decision(applied)))

    run(app)

    assert alerts
    assert set(alerts) == {None}


def test_the_letter_of_a_job_that_was_sent_back_is_closed_by_it(played):
    app = played(GiveUp("AUTH_DENIED"), CUT_OFF)
    job = run(app)
    assert [view.letter.id for view in app.dead.find()] == [job.id]
    app.retry(job.id, by="ada")
    drain(app)

    assert app.job(job.id).job.error_class == "PDF_TRUNCATED"
    [letter] = [view.letter for view in app.dead.find(LetterFilter(states=(LetterState.RESOLVED,)))]
    assert letter.note == "its sender's own mistake: PDF_TRUNCATED"
    assert app.dead.groups() == []
    assert app.verify() == []


def test_what_was_refused_and_sent_back_may_still_fail_otherwise_and_leave_a_letter(played):
    app = played(CUT_OFF, GiveUp("AUTH_DENIED"))
    job = run(app)
    app.retry(job.id, by="ada")
    drain(app)

    assert [view.letter.error_class for view in app.dead.find()] == ["AUTH_DENIED"]
    assert app.verify() == []


def test_a_rule_may_say_that_an_exception_is_the_senders_mistake(played):
    rule = Rule(ValueError, Verdict("UNREADABLE", retryable=False, user_error=True))
    app = played(ValueError("odd"), rules=[rule])

    assert run(app).job.error_class == "UNREADABLE"
    assert app.dead.find() == []


def test_a_users_error_is_also_a_reason_to_refuse_a_job_as_it_comes(app):
    job = app.refuse("p", None, CUT_OFF).get()

    assert job.error["user_error"] is True
    assert app.dead.find() == []


@pytest.mark.parametrize("kind", [GiveUp, UserError])
def test_an_error_says_by_its_own_name_what_its_class_must_be(kind):
    with pytest.raises(InvalidValue, match=kind.__name__):
        kind("lower case")


def test_its_owner_cannot_send_it_back_as_it_is_and_an_operator_can(played):
    app = played(CUT_OFF, 1)
    job = run(app)

    with pytest.raises(RetryRefused, match="corrected first"):
        app.retry(job.id, by="ada", owner="")
    assert app.retry(job.id, by="grace").state is JobState.QUEUED


def test_a_failure_that_spends_no_attempt_breaks_no_invariant(played):
    rule = Rule(ValueError, Verdict("AWAY", retryable=True, spends_attempt=False))
    app = played(ValueError(), ValueError(), ConnectionError(), 1, rules=[rule])
    job = app.submit("p")
    for state in ("queued", "queued", "queued", "complete"):
        run_inline(app)
        assert app.verify() == []
        assert app.job(job.id).state == state
        app.clock.advance(300)

    spent = [line.meta.get("spends_attempt", True) for line in app.history(job.id)]
    assert spent.count(False) == 2


def test_what_passes_by_itself_is_no_alert_though_it_spends_no_attempt(played):
    away = Rule(ValueError, Verdict("AWAY", retryable=True, spends_attempt=False))
    app = played(ValueError(), rules=[away])
    alerts = []
    app.subscribe(lambda applied: alerts.append(of_decision(applied)))
    app.submit("p")
    run_inline(app)

    assert alerts == [None]
