"""What belongs to somebody else is as good as not there, whatever is asked of it."""

import pytest

from holdfast import GiveUp, JobFilter, JobState, Pipeline
from holdfast.dead_letters import LetterFilter
from holdfast.deliveries import DeliveryFilter, Notify
from holdfast.errors import (
    UnknownDelivery,
    UnknownJob,
    UnknownLetter,
    UnknownReplay,
    UsageError,
)
from holdfast.testing import run_inline
from tests.engine.mailbox import BOTH

NOBODY = "0190aaaa-0000-7000-8000-000000000000"

JOB_VERBS = {
    "job": lambda app, job_id, owner: app.job(job_id, owner=owner),
    "history": lambda app, job_id, owner: app.history(job_id, owner=owner),
    "attempts": lambda app, job_id, owner: app.attempts(job_id, owner=owner),
    "results": lambda app, job_id, owner: app.results(job_id, owner=owner),
    "cancel": lambda app, job_id, owner: app.cancel(job_id, by="eve", owner=owner),
    "retry": lambda app, job_id, owner: app.retry(job_id, by="eve", owner=owner),
}
LETTER_VERBS = {
    "get": lambda dead, one, owner: dead.get(one, owner=owner),
    "show": lambda dead, one, owner: dead.show(one, owner=owner),
    "triage": lambda dead, one, owner: dead.triage(one, cause="data", by="eve", owner=owner),
    "remediate": lambda dead, one, owner: dead.remediate(one, evidence="e", by="eve", owner=owner),
    "replay": lambda dead, one, owner: dead.replay(one, by="eve", owner=owner),
    "resolve": lambda dead, one, owner: dead.resolve(
        one, note="n", by="eve", unreplayed=True, owner=owner
    ),
}
REPLAY_VERBS = {
    "show": lambda replays, one, owner: replays.show(one, owner=owner),
    "items": lambda replays, one, owner: replays.items(one, owner=owner),
    "cancel": lambda replays, one, owner: replays.cancel(one, by="eve", owner=owner),
    "hand_over": lambda replays, one, owner: replays.hand_over(one, by="eve", owner=owner),
}


def dead_of(app, owner: str):
    """Returns a job of that owner's that failed for good."""
    job = app.submit("p", key=f"{owner}-{len(app.jobs())}", owner=owner)
    run_inline(app)
    return job


@pytest.fixture
def dying(app, script):
    script._then = GiveUp("NO", "no such thing")
    return app


def told(verb, *arguments) -> str:
    """Returns the words in which a verb says that it knows nothing of what it was asked about."""
    with pytest.raises(UsageError) as caught:
        verb(*arguments)
    return type(caught.value).__name__ + str(caught.value)


@pytest.mark.parametrize("verb", JOB_VERBS.values(), ids=JOB_VERBS)
def test_a_job_of_another_owners_is_unknown_in_the_same_words_as_one_that_is_not_there(app, verb):
    job = app.submit("p", owner="ada")
    before = app.job(job.id).job

    missing = told(verb, app, NOBODY, "eve").replace(NOBODY, job.id)
    assert told(verb, app, job.id, "eve") == missing
    assert told(verb, app, job.id, "") == missing
    assert UnknownJob.__name__ in missing
    assert app.job(job.id).job == before


def test_an_owner_has_all_verbs_for_their_own_jobs(dying):
    app = dying
    queued, failed = app.submit("p", owner="ada", delay=60), dead_of(app, "ada")

    assert app.job(queued.id, owner="ada").id == queued.id
    assert [line.event for line in app.history(failed.id, owner="ada")][-1] == "failed"
    assert [line.outcome for line in app.attempts(failed.id, owner="ada")] == ["failed"]
    assert app.results(failed.id, owner="ada") == {}
    assert app.cancel(queued.id, by="ada", owner="ada").state is JobState.CANCELLED
    assert app.retry(failed.id, by="ada", owner="ada").state is JobState.QUEUED


def test_many_are_cancelled_counted_and_sent_back_for_one_owner(dying):
    app = dying
    hers, his = dead_of(app, "ada"), dead_of(app, "bob")
    for owner in ("ada", "ada", "bob"):
        app.submit("p", owner=owner, delay=60)

    assert app.count(JobFilter(owner="ada")) == 3
    assert app.count(JobFilter(owner="ada"), at_most=2) == 2
    assert app.cancel_many(JobFilter(owner="ada"), by="ada").changed == 2
    assert app.retry_many(JobFilter(owner="ada"), by="ada").changed == 1
    assert app.job(hers.id).state is JobState.QUEUED
    assert app.job(his.id).state is JobState.FAILED
    assert app.count(JobFilter(owner="bob", states=(JobState.QUEUED,))) == 1


@pytest.mark.parametrize("at_most", [0, -1, 10_001])
def test_what_is_counted_has_a_limit(app, at_most):
    with pytest.raises(UsageError, match="at_most"):
        app.count(at_most=at_most)


@pytest.mark.parametrize("verb", LETTER_VERBS.values(), ids=LETTER_VERBS)
def test_a_dead_letter_of_another_owners_is_unknown(dying, verb):
    job = dead_of(dying, "ada")
    before = dying.dead.get(job.id)

    missing = told(verb, dying.dead, NOBODY, "eve").replace(NOBODY, job.id)
    assert told(verb, dying.dead, job.id, "eve") == missing
    assert UnknownLetter.__name__ in missing
    assert dying.dead.get(job.id).letter == before.letter
    assert dying.job(job.id).state is JobState.FAILED


def test_an_owner_works_through_their_own_dead_letters(dying, script):
    job, _ = dead_of(dying, "ada"), dead_of(dying, "bob")
    dead = dying.dead

    assert [view.id for view in dead.find(owner="ada")] == [job.id]
    assert [view.id for view in dead.find(LetterFilter(owner="ada"), owner="ada")] == [job.id]
    assert dead.find(LetterFilter(owner="bob"), owner="ada") == []
    assert [group.letters for group in dead.groups(owner="ada")] == [1]
    assert [group.letters for group in dead.groups()] == [2]
    assert dead.show(job.id, owner="ada").view.id == job.id
    dead.triage(job.id, cause="data", by="ada", owner="ada")
    dead.remediate(job.id, evidence="mended", by="ada", owner="ada")
    script._then = 1
    dead.replay(job.id, by="ada", owner="ada")
    run_inline(dying)
    dead.resolve(job.id, note="all is well", by="ada", owner="ada")
    assert dead.get(job.id, owner="ada").letter.note == "all is well"


def test_a_replay_for_one_owner_takes_their_letters_alone(dying):
    hers, _ = dead_of(dying, "ada"), dead_of(dying, "bob")
    replays = dying.replays
    (group,) = dying.dead.groups()

    assert replays.preview(group.fingerprint, readied=True, owner="ada").letters == 1
    assert replays.preview(LetterFilter(owner="bob"), readied=True, owner="ada").letters == 0
    made = replays.start(
        "mine", group.fingerprint, by="ada", cause="data", evidence="mended", owner="ada"
    )
    assert [item.letter_id for item in replays.items(made.id, owner="ada")] == [hers.id]
    assert [view.id for view in replays.latest(owner="ada")] == [made.id]
    assert replays.latest(owner="bob") == []
    assert replays.show(made.id, owner="ada").to_document()["owner"] == "ada"
    with pytest.raises(UsageError, match="nothing was started"):
        replays.start("none", group.fingerprint, by="eve", owner="eve")


@pytest.mark.parametrize("verb", REPLAY_VERBS.values(), ids=REPLAY_VERBS)
@pytest.mark.parametrize("whose", ["ada", None])
def test_a_replay_of_another_owners_is_unknown(dying, verb, whose):
    dead_of(dying, "ada")
    (group,) = dying.dead.groups()
    made = dying.replays.start(
        "theirs", group.fingerprint, by="ada", cause="data", evidence="mended", owner=whose
    )

    missing = told(verb, dying.replays, NOBODY, "eve").replace(NOBODY, made.id)
    assert told(verb, dying.replays, made.id, "eve") == missing
    assert UnknownReplay.__name__ in missing
    assert dying.replays.show(made.id).state == made.state


def test_a_delivery_is_its_jobs_owners_and_without_a_job_nobodys(with_mail):
    pipeline = Pipeline("p")

    @pipeline.stage
    def tell(job) -> Notify:
        return Notify(subject="review", recipients=["ada@example.test"], message={"text": "done"})

    app, _ = with_mail(BOTH, pipeline)
    job = app.submit("p", owner="ada")
    run_inline(app)
    (alone,) = app.deliver("news", recipients=["bob@example.test"], message={"text": "new"})
    (hers,) = app.deliveries.of_job(job.id)

    assert [view.id for view in app.deliveries.find(owner="ada")] == [hers.id]
    assert app.deliveries.find(DeliveryFilter(owner="bob"), owner="ada") == []
    assert app.deliveries.show(hers.id, owner="ada").view.id == hers.id
    assert app.deliveries.of_job(job.id, owner="eve") == []
    for delivery_id, owner in ((hers.id, "eve"), (alone.id, "ada"), (alone.id, "")):
        for verb in (
            lambda one, owner: app.deliveries.get(one, owner=owner),
            lambda one, owner: app.deliveries.show(one, owner=owner),
            lambda one, owner: app.deliveries.resolve(one, "fail", by="eve", owner=owner),
        ):
            assert told(verb, delivery_id, owner) == told(verb, NOBODY, owner).replace(
                NOBODY, delivery_id
            )
            assert UnknownDelivery.__name__ in told(verb, delivery_id, owner)
    assert len(app.deliveries.find()) == 2
