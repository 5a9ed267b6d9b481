"""For how long a recipient is not told again, and who holds a delivery for longer."""

from holdfast import GiveUp, JobState, Pipeline
from holdfast.deliveries import Notify
from holdfast.testing import drain
from tests.engine.mailbox import BOTH

DAY = 86_400


def _review(**then) -> Pipeline:
    pipeline = Pipeline("review")

    @pipeline.stage
    def tell(_job) -> Notify:
        return Notify(subject="review-1", recipients=["ada@x.test"], message={"text": "graded"})

    @pipeline.stage
    def file_away(_job) -> str:
        if then.get("fails"):
            raise GiveUp("INVALID", "no such drawer")
        return "done"

    return pipeline


def test_a_recipient_is_not_told_again_while_the_delivery_is_kept(with_mail, clock):
    app, mailbox = with_mail(BOTH, _review())
    first = app.submit("review", {}, key="r-1")
    drain(app)
    clock.advance(89 * DAY)
    assert "deliveries" not in app.purge()
    again = app.submit("review", {}, key="r-2")
    drain(app)

    assert (again.created, again.get().state) == (True, JobState.COMPLETE)
    assert again.id != first.id
    assert mailbox.told() == {"ada@x.test": 1}
    assert app.verify() == []


def test_once_the_delivery_is_gone_the_same_version_is_told_once_more(with_mail, clock):
    app, mailbox = with_mail(BOTH, _review())
    app.submit("review", {})
    drain(app)
    clock.advance(91 * DAY)
    assert app.purge()["deliveries"] == 1
    assert app.verify() == []

    app.submit("review", {})
    drain(app)

    assert len(mailbox.sends) == 2


def test_a_job_that_waits_for_a_person_holds_its_deliveries_however_long(with_mail, clock):
    app, mailbox = with_mail(BOTH, _review(fails=True))
    job = app.submit("review", {})
    drain(app)
    assert job.get().state is JobState.FAILED
    clock.advance(365 * DAY)
    app.purge()

    app.retry(job.id, by="ada", from_start=True)
    drain(app)

    assert len(mailbox.sends) == 1
    assert app.verify() == []
