"""A job whose stage tells recipients: it is complete once those that are required were told."""

import pytest

from holdfast import JobState, Pipeline, Retry
from holdfast.deliveries import DeliveryState, Notify, Recipient
from holdfast.errors import InvalidValue
from holdfast.testing import drain, run_inline
from tests.engine.mailbox import BOTH, LOOKUP, NEITHER


def _review(*recipients, **notify) -> Pipeline:
    pipeline = Pipeline("review", retry=Retry(attempts=3, base=1, jitter="none"))

    @pipeline.stage(name="notify")
    def notify_all(job) -> Notify:
        return Notify(
            subject="cl-1", recipients=list(recipients), message={"text": "done"}, **notify
        )

    @pipeline.stage
    def count(job, notify: dict) -> dict:
        return {"told": notify["sent"]}

    return pipeline


def test_a_job_is_complete_once_every_required_recipient_was_told(with_mail):
    app, mailbox = with_mail(BOTH, _review("a@x.test", "b@x.test"))
    mailbox.next.append("busy")
    job = app.submit("review", {})
    run_inline(app)

    assert job.get().state is JobState.WAITING
    drain(app)
    assert job.get().state is JobState.COMPLETE
    assert job.get().result == {"told": 2}
    assert mailbox.told() == {"a@x.test": 1, "b@x.test": 1}
    assert {view.delivery.stage for view in app.deliveries.of_job(job.id)} == {"notify"}
    assert app.verify() == []


def test_nothing_waits_for_an_optional_recipient(with_mail):
    optional = Recipient("b@x.test", required=False)
    app, mailbox = with_mail(BOTH, _review("a@x.test", optional))
    job = app.submit("review", {})
    run_inline(app, until=lambda: len(mailbox.sends) == 0)
    mailbox.next.extend(["fine", "refused"])
    drain(app)

    assert job.get().state is JobState.COMPLETE
    assert app.results(job.id)["notify"]["failed"] == 1


def test_with_optional_recipients_alone_the_stage_is_done_at_once(with_mail):
    optional = Recipient("b@x.test", required=False)
    app, mailbox = with_mail(BOTH, _review(optional))
    mailbox.next.append("busy")
    job = app.submit("review", {})
    run_inline(app, until=job)

    assert job.get().state is JobState.COMPLETE
    drain(app)
    assert mailbox.told() == {"b@x.test": 1}


def test_a_required_recipient_that_cannot_be_told_fails_the_job(with_mail):
    app, mailbox = with_mail(BOTH, _review("a@x.test", "b@x.test"))
    mailbox.next.append("refused")
    job = app.submit("review", {})
    drain(app)

    error = job.get().error
    assert job.get().state is JobState.FAILED
    assert error["error_class"] == "INVALID"
    assert "1 of 2 required recipients were not reached" in error["message"]
    assert "a***@x.test" in error["message"]
    assert app.dead.get(job.id).letter.stage == "notify"
    assert mailbox.told() == {"b@x.test": 1}


def test_a_job_that_is_sent_back_tells_those_that_were_not_told(with_mail):
    app, mailbox = with_mail(BOTH, _review("a@x.test", "b@x.test"))
    mailbox.next.append("refused")
    job = app.submit("review", {})
    drain(app)
    app.retry(job.id, by="ada")
    drain(app)

    assert job.get().state is JobState.COMPLETE
    assert mailbox.told() == {"a@x.test": 1, "b@x.test": 1}


def test_what_a_person_gave_up_is_not_revived_by_a_retry(with_mail):
    app, mailbox = with_mail(BOTH, _review("a@x.test"))
    mailbox.next.append("refused")
    job = app.submit("review", {})
    drain(app)
    (view,) = app.deliveries.of_job(job.id)
    app.deliveries.resolve(view.id, "resend", by="ada")
    app.deliveries.resolve(view.id, "fail", by="ada", reason="left the firm")
    app.retry(job.id, by="ada")
    drain(app)

    assert job.get().state is JobState.FAILED
    assert mailbox.messages == []


def test_a_second_job_for_the_same_version_tells_nobody_again(with_mail):
    app, mailbox = with_mail(NEITHER, _review("a@x.test"))
    first = app.submit("review", {})
    drain(app)
    second = app.submit("review", {})
    drain(app)

    assert (first.get().state, second.get().state) == (JobState.COMPLETE, JobState.COMPLETE)
    assert mailbox.told() == {"a@x.test": 1}


def test_a_second_job_is_put_off_while_another_waits_for_the_same(with_mail, clock):
    app, mailbox = with_mail(NEITHER, _review("a@x.test"))
    mailbox.next.append("busy")
    first = app.submit("review", {})
    run_inline(app)
    second = app.submit("review", {})
    run_inline(app)

    assert (first.get().state, second.get().state) == (JobState.WAITING, JobState.QUEUED)
    drain(app)
    assert second.get().state is JobState.COMPLETE
    assert mailbox.told() == {"a@x.test": 1}


def test_a_job_takes_over_what_another_left_unknown_and_sends_nothing_of_it(with_mail):
    app, mailbox = with_mail(NEITHER, _review("a@x.test"))
    mailbox.next.append("accepted, no answer")
    app.submit("review", {})
    drain(app)
    second = app.submit("review", {})
    drain(app)

    assert second.get().state is JobState.FAILED
    assert [view.delivery.job_id for view in app.deliveries.find()] == [second.id]
    assert mailbox.told() == {"a@x.test": 1}


def test_a_rerun_under_a_higher_version_tells_everybody_again(with_mail):
    app, mailbox = with_mail(NEITHER, _review("a@x.test"))
    app.submit("review", {}, key="cl-1")
    drain(app)
    app.submit("review", {}, key="cl-1", version=2, rerun=True)
    drain(app)

    assert mailbox.told() == {"a@x.test": 2}


def test_a_deadline_that_passes_while_it_is_sent_stays_a_timeout(with_mail, clock):
    app, mailbox = with_mail(BOTH, _review("a@x.test"))
    accept = mailbox.send

    def slowly(message, *, token, timeout_s):
        evidence = accept(message, token=token, timeout_s=timeout_s)
        clock.advance(9)
        return evidence

    mailbox.send = slowly
    job = app.submit("review", {}, deadline=5.0)
    drain(app)

    view = job.get()
    assert (view.state, view.error["error_class"]) == (JobState.FAILED, "TIMEOUT")
    assert view.late_result["sent"] == 1
    assert mailbox.told() == {"a@x.test": 1}
    assert [each.state for each in app.deliveries.of_job(job.id)] == [DeliveryState.SENT]


def test_a_wait_that_is_over_asks_again_and_tells_nobody_twice(with_mail):
    app, mailbox = with_mail(LOOKUP, _review("a@x.test", timeout=25.0))
    mailbox.next.append("accepted, no answer")
    job = app.submit("review", {})
    drain(app)

    assert job.get().state is JobState.COMPLETE
    assert [line.event for line in app.history(job.id)].count("retried") == 1
    assert mailbox.told() == {"a@x.test": 1}


def test_a_stage_that_names_no_known_provider_fails_at_once(with_mail):
    app, _ = with_mail(BOTH, _review("a@x.test", provider="fax"))
    job = app.submit("review", {})
    drain(app)

    assert "no provider is called 'fax'" in job.get().error["message"]
    assert app.deliveries.find() == []


def test_a_stage_of_an_app_without_providers_fails_at_once(open_app):
    app = open_app(_review("a@x.test"))
    job = app.submit("review", {})
    drain(app)

    assert "has no provider" in job.get().error["message"]


def test_the_notice_of_a_handler_is_checked_where_it_is_made(with_mail):
    app, _ = with_mail(BOTH, _review())
    job = app.submit("review", {})
    drain(app)

    assert job.get().error["error_class"] == "INVALID"
    assert "recipients" in job.get().error["message"]


@pytest.mark.parametrize("timeout", [0, -1, 1e12])
def test_a_timeout_that_makes_no_sense_is_refused(timeout):
    with pytest.raises(InvalidValue, match="timeout"):
        Notify(subject="s", recipients=["a@x.test"], timeout=timeout)


def test_a_job_that_has_left_the_stage_keeps_no_other_from_its_deliveries(with_mail):
    optional = Recipient("b@x.test", required=False)
    pipeline = _review("a@x.test", optional)
    app, mailbox = with_mail(BOTH, pipeline)
    mailbox.next.extend(["fine", "busy"])
    first = app.submit("review", {})
    run_inline(app, until=lambda: first.get().job.stage == "count")
    second = app.submit("review", {})
    run_inline(app)

    assert second.get().state is not JobState.QUEUED
    drain(app)
    assert second.get().state is JobState.COMPLETE
    assert mailbox.told() == {"a@x.test": 1, "b@x.test": 1}
