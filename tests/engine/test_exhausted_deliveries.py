"""A stage whose deliveries cannot be sent, or nobody knows whether they were, is a dead letter."""

from dataclasses import replace

import pytest

from holdfast import JobState, Pipeline, Retry
from holdfast.core.values.instant import SECOND_US
from holdfast.dead_letters import Cause
from holdfast.deliveries import DeliveryState, Notify
from holdfast.errors import StepMissing
from holdfast.testing import drain, run_inline
from tests.engine.mailbox import DEDUPES, LOOKUP, NEITHER, OPTIONS

FIVE = Retry(attempts=5, base=8, factor=1, jitter="none")
UNWELL = ["unwell"] * 5
BUSY = ["busy"] * 5


def _review(*recipients: str) -> Pipeline:
    pipeline = Pipeline("review", retry=Retry(attempts=5, base=1, jitter="none"))

    @pipeline.stage(name="notify")
    def notify_all(job) -> Notify:
        return Notify(subject="cl-1", recipients=list(recipients), message={"text": "done"})

    return pipeline


@pytest.fixture
def reviewing(with_mail):
    """Makes an app with a provider of five sends, and returns it with the provider."""

    def make(promise, *recipients: str):
        pipeline = _review(*(recipients or ("a@x.test",)))
        return with_mail(promise, pipeline, courier=replace(OPTIONS, retry=FIVE))

    return make


def dead(app, job):
    drain(app)
    assert job.get().state is JobState.FAILED, job.get().state
    return app.dead.show(job.id)


def replay(app, job, **said):
    app.dead.triage(job.id, cause=Cause.TRANSIENT, by="ada")
    app.dead.remediate(job.id, evidence="INC-7: it is up again", by="ada")
    app.dead.replay(job.id, by="ada", confirm_idempotent=True, **said)


@pytest.mark.parametrize(
    ("outage", "became", "error_class"),
    [(UNWELL, "unknown", "UPSTREAM_5XX"), (BUSY, "failed", "RATE_LIMITED")],
    ids=["in doubt", "for good"],
)
class TestTheLetter:
    def test_it_says_how_often_and_since_when_it_was_tried(
        self, reviewing, clock, outage, became, error_class
    ):
        app, mailbox = reviewing(DEDUPES)
        mailbox.next.extend(outage)
        began = clock.now()
        job = app.submit("review", {})
        letter = dead(app, job).view.letter

        assert (letter.stage, letter.error_class, letter.attempts) == ("notify", error_class, 5)
        assert (letter.retryable, letter.outcome_known) == (True, became == "failed")
        assert letter.first_failure_at == began
        assert letter.last_failure_at == began + 4 * 8 * SECOND_US
        assert len(mailbox.sends) == 5
        assert app.verify() == []

    def test_it_names_the_deliveries_their_recipients_masked_and_what_the_provider_said(
        self, reviewing, outage, became, error_class
    ):
        app, mailbox = reviewing(DEDUPES, "ada@x.test", "bob@x.test")
        mailbox.next.extend([*outage[:1], "fine", *outage[1:]])
        report = dead(app, app.submit("review", {}))

        stuck, sent = report.deliveries
        assert (stuck.state, sent.state) == (DeliveryState(became), DeliveryState.SENT)
        message = report.view.letter.message
        assert "1 of 2 required recipients were not reached" in message
        assert f"delivery {stuck.id} to a***@x.test" in message
        assert outage[0] in message
        document = report.to_document()
        assert "ada@x.test" not in str(document)
        assert [each["attempts"] for each in document["deliveries"]] == [5, 1]

    def test_a_replay_sends_what_was_not_sent_and_nothing_else(
        self, reviewing, outage, became, error_class
    ):
        app, mailbox = reviewing(DEDUPES, "a@x.test", "b@x.test")
        mailbox.next.extend([*outage[:1], "fine", *outage[1:]])
        job = app.submit("review", {})
        dead(app, job)
        replay(app, job)
        drain(app)

        assert job.get().state is JobState.COMPLETE
        assert mailbox.told() == {"a@x.test": 1, "b@x.test": 1}
        assert len(set(mailbox.sends)) == 2, "every try of a delivery has its token"

    def test_a_second_outage_is_a_second_failure_and_no_escalation(
        self, reviewing, clock, outage, became, error_class
    ):
        app, mailbox = reviewing(DEDUPES)
        mailbox.next.extend(outage)
        job = app.submit("review", {})
        dead(app, job)
        clock.advance(3600)
        again = clock.now()
        mailbox.next.extend(outage)
        replay(app, job)
        view = dead(app, job).view

        assert (view.letter.deaths, view.letter.attempts, view.escalated) == (2, 5, False)
        assert view.letter.first_failure_at == again


class TestWhatNobodyKnows:
    def _in_doubt(self, reviewing):
        app, mailbox = reviewing(NEITHER)
        mailbox.next.append("accepted, no answer")
        job = app.submit("review", {})
        report = dead(app, job)
        return app, mailbox, job, report.deliveries[0].id

    def test_a_replay_waits_for_a_person_to_decide_about_the_deliveries(self, reviewing):
        app, _, job, _ = self._in_doubt(reviewing)

        with pytest.raises(StepMissing, match="say what became of them first") as caught:
            replay(app, job)

        assert caught.value.missing == "deliveries"

    def test_once_it_is_marked_as_sent_a_replay_completes_and_sends_nothing(self, reviewing):
        app, mailbox, job, delivery_id = self._in_doubt(reviewing)
        app.deliveries.resolve(delivery_id, "sent", by="ada", reason="in the provider's log")
        replay(app, job)
        drain(app)

        assert job.get().state is JobState.COMPLETE
        assert mailbox.told() == {"a@x.test": 1}

    def test_once_it_is_to_be_sent_again_it_is_sent_and_a_replay_completes(self, reviewing):
        app, mailbox, job, delivery_id = self._in_doubt(reviewing)
        app.deliveries.resolve(delivery_id, "resend", by="ada", reason="it never arrived")
        drain(app)
        replay(app, job)
        drain(app)

        assert job.get().state is JobState.COMPLETE
        assert len(mailbox.sends) == 2

    def test_where_the_provider_can_be_asked_a_replay_asks_it(self, reviewing):
        app, mailbox = reviewing(LOOKUP)
        mailbox.lookups_down = True
        mailbox.next.append("accepted, no answer")
        job = app.submit("review", {})
        assert dead(app, job).view.letter.outcome_known is False
        mailbox.lookups_down = False
        replay(app, job)
        drain(app)

        assert job.get().state is JobState.COMPLETE
        assert len(mailbox.sends) == 1

    def test_a_job_that_waited_when_workers_knew_no_better_is_found_by_new_ones(
        self, reviewing, clock
    ):
        """A delivery became unknown under an earlier version, which left its job waiting."""
        app, mailbox = reviewing(NEITHER)
        mailbox.next.append("busy")
        job = app.submit("review", {})
        run_inline(app)
        (row,) = app.store.deliveries.of_job(job.id)
        unknown = row._replace(state=DeliveryState.UNKNOWN, began_at=clock.now())
        app.store.deliveries.apply([unknown])

        assert dead(app, job).view.letter.stage == "notify"


class TestTheLog:
    def test_every_send_and_lookup_is_recorded_under_the_delivery(self, reviewing):
        app, mailbox = reviewing(LOOKUP)
        mailbox.finds_after = 0
        mailbox.next.extend(["busy", "accepted, no answer"])
        job = app.submit("review", {})
        drain(app)

        (view,) = app.deliveries.of_job(job.id)
        log = app.deliveries.show(view.id).log
        assert [(line.attempt, line.outcome.value) for line in log] == [
            (1, "refused"),
            (2, "in_doubt"),
            (2, "found"),
        ]
        assert [line.error_class for line in log] == ["RATE_LIMITED", "NETWORK_TIMEOUT", None]
        assert log[-1].notification_id == view.delivery.notification_id
        assert all(line.holder for line in log)
        assert app.deliveries.log_of([view.id]) == {view.id: log}

    def test_it_goes_with_the_delivery(self, reviewing, clock):
        app, _ = reviewing(NEITHER)
        job = app.submit("review", {})
        drain(app)
        (view,) = app.deliveries.of_job(job.id)
        clock.advance(200 * 86_400)
        app.purge()
        app.purge()

        assert app.deliveries.log_of([view.id]) == {view.id: []}
