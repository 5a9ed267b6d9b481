"""A pipeline says who makes its jobs and who sends failed ones back, and every way keeps to it."""

import pytest

from holdfast import GiveUp, Holdfast, JobFilter, JobState, Pipeline
from holdfast.bridges.rabbitmq.topology import Queue
from holdfast.engine.jobs.access import Elsewhere
from holdfast.errors import (
    InvalidPolicy,
    PipelineClosed,
    RetryNotAllowed,
    RetryRefused,
    StepMissing,
    UnknownPipeline,
)
from holdfast.testing import Script, drain

GONE = "its file is gone; send it again"


def pipeline_of(**rules) -> Pipeline:
    made = Pipeline("pages", **rules)
    made.stage(name="fetch")(Script(then=GiveUp("NOT_FOUND", "no")).handler)
    return made


def failed(app, **how) -> str:
    job_id = app.submit("pages", {"n": 1}, key="k", **how).id
    drain(app)
    assert app.job(job_id).state is JobState.FAILED
    return job_id


@pytest.fixture
def stranger(database_url):
    """A process on the same database that was given none of the pipelines."""
    with Holdfast(database_url) as made:
        yield made


class TestRetryBy:
    def test_an_owner_sends_failed_jobs_back_unless_the_pipeline_says_otherwise(self, open_app):
        app = open_app(pipeline_of())
        job_id = failed(app, owner="ada")

        assert app.retry_obstacle(app.job(job_id), owner="ada") is None
        assert app.retry(job_id, by="ada", owner="ada").state is JobState.QUEUED

    def test_where_operators_do_an_owner_is_told_to_ask_one(self, open_app):
        app = open_app(pipeline_of(retry_by="operator"))
        job_id = failed(app, owner="ada")

        with pytest.raises(RetryNotAllowed, match="are sent back by operators alone; ask one"):
            app.retry(job_id, by="ada", owner="ada")

        assert isinstance(app.retry_obstacle(app.job(job_id), owner="ada"), RetryNotAllowed)
        assert app.job(job_id).state is JobState.FAILED
        assert app.retry(job_id, by="root", owner="ada", operator=True).state is JobState.QUEUED

    @pytest.mark.parametrize("asking", [{}, {"owner": "ada"}, {"owner": "ada", "operator": True}])
    def test_where_the_workflow_does_nobody_retries_by_hand(self, open_app, asking):
        app = open_app(pipeline_of(retry_by="workflow"))
        job_id = failed(app, owner="ada")

        with pytest.raises(RetryNotAllowed) as caught:
            app.retry(job_id, by="ada", **asking)

        assert "its dead letter says what comes next" in str(caught.value)
        assert caught.value.retry_by == "workflow"
        assert app.job(job_id).state is JobState.FAILED
        assert app.dead.get(job_id).letter.state == "open"

    def test_many_of_such_a_pipeline_are_refused_as_a_whole(self, open_app):
        app = open_app(pipeline_of(retry_by="workflow"))
        job_id = failed(app)

        with pytest.raises(RetryNotAllowed, match="their dead letters say what comes next"):
            app.retry_many(JobFilter(pipeline="pages"), by="ada")
        assert app.job(job_id).state is JobState.FAILED

    def test_among_many_those_stay_and_are_counted_by_the_reason(self, open_app):
        other = Pipeline("other")
        other.stage(name="one")(Script(then=GiveUp("NOT_FOUND", "no")).handler)
        app = open_app(pipeline_of(retry_by="workflow"), other)
        kept, back = failed(app), app.submit("other").id
        drain(app)

        chunk = app.retry_many(JobFilter(), by="ada")

        assert (chunk.matched, chunk.changed) == (2, 1)
        ((reason, count),) = chunk.refused.items()
        assert ("as dead letters, with the remedy on record" in reason, count) == (True, 1)
        assert app.job(kept).state is JobState.FAILED
        assert app.job(back).state is JobState.QUEUED

    def test_the_workflow_sends_it_back_once_the_evidence_is_on_record(self, open_app):
        app = open_app(pipeline_of(retry_by="workflow"))
        job_id = failed(app)

        with pytest.raises(StepMissing, match="triaged first"):
            app.dead.replay(job_id, by="root")
        app.dead.triage(job_id, cause="transient", by="root")
        with pytest.raises(StepMissing, match="its cause has to be removed first"):
            app.dead.replay(job_id, by="root")
        assert app.job(job_id).state is JobState.FAILED
        app.dead.remediate(job_id, evidence="it answers again", by="root")
        app.dead.replay(job_id, by="root")

        assert app.job(job_id).state is JobState.QUEUED

    def test_a_replay_of_many_sends_it_back_too(self, open_app):
        app = open_app(pipeline_of(retry_by="workflow"))
        job_id = failed(app)
        fingerprint = app.dead.get(job_id).letter.fingerprint
        ready = {"cause": "transient", "evidence": "it answers again"}
        replay = app.replays.start("again", fingerprint, by="root", canary=0, rate=None, **ready)

        app.replays.advance(replay.id)

        assert app.job(job_id).state is JobState.QUEUED

    def test_what_was_turned_away_as_it_came_has_no_workflow_and_is_submitted_anew(self, open_app):
        app = open_app(pipeline_of(retry_by="workflow"))
        job_id = app.refuse("pages", {"n": 1}, GiveUp("TOO_LARGE", "no")).id

        with pytest.raises(RetryRefused, match=r"turned away before any of it was run.*anew"):
            app.retry(job_id, by="root")


class TestWhereThePipelineIsUnknown:
    def test_the_workflow_is_kept_to(self, open_app, stranger):
        job_id = failed(open_app(pipeline_of(retry_by="workflow")))

        with pytest.raises(RetryNotAllowed):
            stranger.retry(job_id, by="root")
        with pytest.raises(RetryNotAllowed):
            stranger.retry_many(JobFilter(pipeline="pages"), by="root")
        assert stranger.retry_many(JobFilter(), by="root").changed == 0

    def test_a_pipeline_without_rules_is_retried_as_ever(self, open_app, stranger):
        job_id = failed(open_app(pipeline_of()))

        assert stranger.retry(job_id, by="root").state is JobState.QUEUED

    def test_what_takes_the_pipelines_own_code_is_refused(self, open_app, stranger):
        app = open_app(pipeline_of(retry_refusal=lambda _payload: None))
        job_id = failed(app)

        with pytest.raises(RetryRefused, match="does not know that pipeline; do it where"):
            stranger.retry(job_id, by="root")
        chunk = stranger.retry_many(JobFilter(pipeline="pages"), by="root")
        assert (chunk.changed, sum(chunk.refused.values())) == (0, 1)
        assert app.job(job_id).state is JobState.FAILED

    @pytest.mark.parametrize("gone", [True, False])
    def test_its_code_is_asked_where_it_can_be_found(self, open_app, stranger, gone):
        app = open_app(pipeline_of(retry_refusal=lambda _payload: GONE if gone else None))
        job_id = failed(app)
        found = Elsewhere(app.pipelines["pages"], "so says the system")
        stranger.access.elsewhere = lambda name: found if name == "pages" else Elsewhere(None)

        if gone:
            with pytest.raises(RetryRefused, match=rf"{GONE} \(so says the system\)"):
                stranger.retry(job_id, by="root")
        else:
            assert stranger.retry(job_id, by="root").state is JobState.QUEUED

    def test_the_rules_are_those_of_the_newest_plan_whatever_the_job_was_made_by(
        self, open_app, database_url, clock
    ):
        job_id = failed(open_app(pipeline_of()))
        clock.advance(1)
        later = open_app(pipeline_of(retry_by="workflow"))
        later.worker()

        with Holdfast(database_url) as stranger, pytest.raises(RetryNotAllowed):
            stranger.retry(job_id, by="root")

    def test_a_closed_pipeline_is_closed_and_any_other_unknown(self, open_app, stranger):
        rules = {"submit_by": "system", "submit_at": "POST /api/upload"}
        failed(open_app(pipeline_of(**rules)))

        with pytest.raises(PipelineClosed, match="at POST /api/upload"):
            stranger.access.open_pipeline("pages")
        with pytest.raises(UnknownPipeline):
            stranger.access.open_pipeline("parcels")


class TestSubmitBy:
    def test_the_systems_own_code_submits_to_a_closed_pipeline(self, open_app):
        app = open_app(pipeline_of(submit_by="system", submit_at="POST /api/upload"))

        assert app.submit("pages", {"n": 1}).created
        assert all(each.created for each in app.submit_many("pages", [{"n": 2}, {"n": 3}]))

    def test_what_submits_to_every_pipeline_alike_is_told_where_to_go(self, open_app):
        app = open_app(pipeline_of(submit_by="system", submit_at="POST /api/upload"))

        with pytest.raises(PipelineClosed, match=r"its own system only.*at POST /api/upload"):
            app.access.open_pipeline("pages")

    def test_an_open_one_is_open(self, open_app):
        app = open_app(pipeline_of())

        assert app.access.open_pipeline("pages") is app.pipelines["pages"]

    def test_a_consumer_makes_no_jobs_of_a_closed_pipeline(self, open_app):
        app = open_app(pipeline_of(submit_by="system"))

        with pytest.raises(PipelineClosed, match="by what its system offers for that"):
            app.consumer("amqp://localhost/", queue=Queue(name="in"), pipeline="pages")


@pytest.mark.parametrize(
    "rules",
    [
        {"retry_by": "nobody"},
        {"submit_by": "me"},
        {"submit_at": "/upload"},
        {"submit_by": "system", "submit_at": ""},
        {"submit_by": "system", "submit_at": "x" * 201},
    ],
)
def test_rules_that_make_no_sense_are_refused_at_the_declaration(rules):
    with pytest.raises(InvalidPolicy, match=next(reversed(rules))):
        Pipeline("pages", **rules)


def test_a_pipeline_that_cannot_say_is_not_sent_back_on_a_guess(open_app, caplog):
    def broken(_payload):
        raise OSError("the disk is out of reach")

    app = open_app(pipeline_of(retry_refusal=broken))
    job_id = failed(app)

    with pytest.raises(RetryRefused, match=r"cannot say .* \(OSError\); try again later"):
        app.retry(job_id, by="root")
    assert app.job(job_id).state is JobState.FAILED
