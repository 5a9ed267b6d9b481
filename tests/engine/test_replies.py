"""Answers that come as messages: each counts once, and what a refused one says changes nothing."""

import json
import threading

import pytest

from holdfast import JobState, Pipeline, Retry, Wait
from holdfast.bridges.messages.inbound import replied, reply_of
from holdfast.core.values.instant import Instant
from holdfast.errors import GiveUp, InvalidValue, TokenRefused, WrongState
from holdfast.runtime.outbox.callbacks import REPLIES
from holdfast.runtime.outbox.received import Received
from holdfast.testing import ManualClock, run_inline


def grading(*, valid_for: float | None = None, timeout: float | None = None) -> Pipeline:
    """A pipeline that asks by a message and goes on with the reply."""
    pipeline = Pipeline("essays", retry=Retry(attempts=3, base=60, jitter="none"))

    @pipeline.stage
    def ask(job) -> Wait:
        token = job.callback_token(valid_for=valid_for)
        job.publish("grading.request", {"callback_token": token})
        return Wait(timeout)

    @pipeline.stage
    def tell(_job, ask: int) -> str:
        return f"graded {ask}"

    return pipeline


def asked(open_app, clock, pipeline=None, **options):
    """An app whose job waits, the job, and the token that its request carries."""
    app = open_app(pipeline or grading(), clock=clock)
    job = app.submit("essays", **options)
    run_inline(app)
    assert job.get().state is JobState.WAITING
    return app, job, tokens_of(app)[-1]


def tokens_of(app) -> list[str]:
    """What the requests carry, oldest first."""
    return [json.loads(sent.payload)["callback_token"] for sent in app.outbox.find()[::-1]]


def reply(token: str, grade: int, message_id: str = "m-1") -> Received:
    payload = {"callback_token": token, "result": grade}
    return Received(id=message_id, type="grading.reply", subject=None, payload=payload)


def events(app, job) -> list[str]:
    return [line.event for line in app.history(job.id)]


def test_the_reply_to_a_published_request_continues_the_job(open_app, clock):
    app, job, token = asked(open_app, clock)

    replied(app.receive_answer, clock=app.clock)(reply(token, 87))
    run_inline(app)

    assert job.get().result == "graded 87"
    assert app.store.inbox.has(REPLIES, "m-1")


def test_a_reply_that_comes_again_changes_nothing_even_if_it_says_something_else(open_app, clock):
    app, job, token = asked(open_app, clock)

    for grade in (87, 12, 12):
        replied(app.receive_answer, clock=app.clock)(reply(token, grade))
    run_inline(app)
    replied(app.receive_answer, clock=app.clock)(reply(token, 12))

    assert job.get().result == "graded 87"
    assert events(app, job).count("advanced") == 1


def test_a_reply_that_comes_again_after_the_job_started_over_is_known_and_not_refused(
    open_app, clock
):
    app, job, token = asked(open_app, clock, deadline=60)
    clock.advance(61)
    replied(app.receive_answer, clock=app.clock)(reply(token, 87))
    app.retry(job.id, by="ada", from_start=True)
    run_inline(app)

    replied(app.receive_answer, clock=app.clock)(reply(token, 87))

    assert job.get().state is JobState.WAITING
    with pytest.raises(GiveUp, match="started over"):
        replied(app.receive_answer, clock=app.clock)(reply(token, 87, "m-2"))


def test_of_many_that_hand_in_the_same_reply_one_does(open_app, clock):
    app, job, token = asked(open_app, clock)

    at_once(lambda _: app.resume(token, 87, message_id="m-1"))
    run_inline(app)

    assert job.get().result == "graded 87"
    assert events(app, job).count("advanced") == 1


def test_of_many_different_replies_one_counts_and_only_that_one_is_noted(open_app, clock):
    app, job, token = asked(open_app, clock)

    at_once(lambda number: app.resume(token, number, message_id=f"m-{number}"))
    run_inline(app)

    (noted,) = (number for number in range(8) if app.store.inbox.has(REPLIES, f"m-{number}"))
    assert job.get().result == f"graded {noted}"


def test_after_the_deadline_a_reply_is_kept_as_late_once_and_the_state_stays(open_app, clock):
    app, job, token = asked(open_app, clock, deadline=60)
    clock.advance(61)
    run_inline(app)

    for grade in (87, 12):
        replied(app.receive_answer, clock=app.clock)(reply(token, grade))

    view = job.get()
    assert (view.state, view.error["error_class"]) == (JobState.FAILED, "TIMEOUT")
    assert view.job.late_result == "87"
    assert events(app, job).count("late") == 1


def test_a_reply_to_a_job_that_was_cancelled_is_noted_as_late_once(open_app, clock):
    app, job, token = asked(open_app, clock)
    app.cancel(job.id, by="ada")

    for _ in range(3):
        replied(app.receive_answer, clock=app.clock)(reply(token, 87))

    assert job.get().state is JobState.CANCELLED
    assert events(app, job).count("late") == 1


def test_a_request_that_comes_to_the_consumer_of_replies_does_not_answer_itself(open_app, clock):
    app, job, token = asked(open_app, clock)
    request = reply(token, 0)._replace(payload={"callback_token": token})

    with pytest.raises(GiveUp, match="no result"):
        replied(app.receive_answer, clock=app.clock)(request)
    assert job.get().state is JobState.WAITING
    replied(app.receive_answer, clock=app.clock)(
        request._replace(payload={"callback_token": token, "result": None})
    )

    assert job.get().job.stage == "tell"


@pytest.mark.parametrize("how", ["forged", "expired", "without", "no text"])
def test_a_reply_without_a_good_token_is_given_up_with_its_reason(open_app, clock, how):
    app, job, token = asked(open_app, clock, grading(valid_for=10))
    body, _, signature = token.partition(".")
    received, reason = {
        "forged": (reply(f"{body}.{signature[::-1]}", 12), "not issued for this database"),
        "expired": (reply(token, 12), "expired"),
        "without": (reply(token, 12)._replace(payload={"result": 12}), "no callback token"),
        "no text": (reply(token, 12)._replace(payload={"callback_token": 7}), "no callback token"),
    }[how]
    if how == "expired":
        clock.advance(11)

    with pytest.raises(GiveUp, match=reason) as caught:
        replied(app.receive_answer, clock=app.clock)(received)

    assert caught.value.error_class == "INVALID"
    assert job.get().state is JobState.WAITING
    assert not app.store.inbox.has(REPLIES, "m-1"), "a genuine one of that id must still count"


def test_a_reply_to_a_job_that_is_gone_is_given_up(open_app, clock):
    app, job, token = asked(open_app, clock)
    app.cancel(job.id, by="ada")
    clock.advance(8 * 86_400)
    app.purge()

    with pytest.raises(GiveUp, match="no job has the id"):
        replied(app.receive_answer, clock=app.clock)(reply(token, 87))


def test_a_reply_between_two_attempts_is_refused_and_counts_once_the_stage_waits_again(
    open_app, clock
):
    app, job, token = asked(open_app, clock, grading(timeout=30))
    clock.advance(31)
    run_inline(app)
    assert job.get().state is JobState.QUEUED

    with pytest.raises(WrongState, match="waiting"):
        replied(app.receive_answer, clock=app.clock)(reply(token, 87))
    clock.advance(60)
    run_inline(app)
    replied(app.receive_answer, clock=app.clock)(reply(token, 87))
    run_inline(app)

    assert job.get().result == "graded 87"


def test_where_the_payload_names_no_token_the_correlation_id_is_it(open_app, clock):
    app, job, token = asked(open_app, clock)

    received = Received(id="m-1", type="r", subject=None, payload=87, correlation_id=token)
    replied(app.receive_answer, clock=app.clock)(received)
    run_inline(app)

    assert job.get().result == "graded 87"
    both = reply("t-1", 12)._replace(correlation_id="c-1")
    assert reply_of(both) == ("t-1", 12)


def test_a_message_id_that_cannot_be_noted_is_refused_by_name(open_app, clock):
    app, job, token = asked(open_app, clock)

    with pytest.raises(InvalidValue, match="message_id"):
        app.resume(token, 87, message_id="")

    assert job.get().state is JobState.WAITING


def test_a_forged_token_is_refused_although_a_message_of_that_id_was_handled(open_app, clock):
    app, _, token = asked(open_app, clock)
    app.resume(token, 87, message_id="m-1")

    with pytest.raises(TokenRefused):
        app.resume("forged", 87, message_id="m-1")


def says(token: str, message_id: str = "m-1", **payload) -> Received:
    payload = {"callback_token": token, **payload}
    return Received(id=message_id, type="grading.reply", subject=None, payload=payload)


def test_a_reply_may_say_that_it_failed_and_the_stage_asks_again(open_app, clock):
    app, job, token = asked(open_app, clock)
    handle = replied(app.receive_answer, clock=app.clock)
    failed = says(token, outcome="failure", error={"error_class": "RATE_LIMITED"})

    for _ in range(2):
        handle(failed)
    assert job.get().state is JobState.QUEUED
    clock.advance(60)
    run_inline(app)
    handle(failed)
    assert job.get().state is JobState.WAITING, "the same message counts once"
    handle(says(token, "m-2", outcome="result", result=87))
    run_inline(app)

    assert job.get().result == "graded 87"
    assert events(app, job).count("retried") == 1


def test_a_reply_with_a_failure_that_cannot_pass_is_a_dead_letter_of_the_job(open_app, clock):
    app, job, token = asked(open_app, clock)
    error = {"error_class": "AUDIO_UNREADABLE", "message": "no sound", "retryable": False}

    replied(app.receive_answer, clock=app.clock)(says(token, outcome="failure", error=error))

    assert job.get().error["message"] == "no sound"
    assert [letter.id for letter in app.dead.find()] == [job.id]


def test_a_reply_may_say_how_far_it_is(open_app, clock):
    app, job, token = asked(open_app, clock)
    handle = replied(app.receive_answer, clock=app.clock)

    handle(says(token, outcome="progress", note="half done", percent=50))
    handle(says(token, outcome="result", result=87))
    run_inline(app)

    assert job.get().result == "graded 87", "a note takes no id away from the result"
    assert events(app, job).count("progress") == 1


def test_a_progress_note_that_is_of_no_use_any_more_is_dropped(open_app, clock):
    app, job, token = asked(open_app, clock, grading(timeout=30))
    handle = replied(app.receive_answer, clock=app.clock)
    note = says(token, outcome="progress", note="half done")
    clock.advance(31)
    run_inline(app)
    assert job.get().state is JobState.QUEUED

    handle(note)
    handle(says("forged", outcome="progress", note="half done"))

    assert "progress" not in events(app, job)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"outcome": "failure"}, "/error"),
        ({"outcome": "failure", "error": "no"}, "/error"),
        ({"outcome": "failure", "error": {"message": "no"}}, "/error/error_class"),
        ({"outcome": "failure", "error": {"error_class": "TIMEOUT"}}, "/error/error_class"),
        ({"outcome": "progress"}, "/note"),
        ({"outcome": "progress", "note": "n", "percent": 1.5}, "/percent"),
        ({"outcome": "done", "result": 1}, "/outcome"),
        ({"outcome": None, "result": 1}, "/outcome"),
        ({"outcome": "result"}, "/result"),
    ],
)
def test_a_reply_that_makes_no_sense_is_given_up_with_its_place(open_app, clock, payload, reason):
    app, job, token = asked(open_app, clock)

    with pytest.raises(GiveUp, match=reason) as caught:
        replied(app.receive_answer, clock=app.clock)(says(token, **payload))

    assert caught.value.error_class == "INVALID"
    assert job.get().state is JobState.WAITING


@pytest.mark.parametrize(
    ("outcome", "payload", "state"),
    [
        ("failure", {"error_class": "AUDIO_UNREADABLE"}, JobState.FAILED),
        ("progress", {"note": "half done"}, JobState.WAITING),
        ("result", 87, JobState.QUEUED),
        ("something else", 87, JobState.QUEUED),
    ],
)
def test_a_reply_by_its_correlation_id_has_its_outcome_in_a_header(
    open_app, clock, outcome, payload, state
):
    app, job, token = asked(open_app, clock)
    received = Received(
        *("m-1", "r", None, payload), correlation_id=token, headers={"outcome": outcome}
    )

    replied(app.receive_answer, clock=app.clock)(received)

    assert job.get().state is state


def test_replies_without_an_id_count_once_for_every_time_the_stage_asks(open_app, clock):
    app, job, token = asked(open_app, clock)
    handle = replied(app.receive_answer, clock=app.clock)
    error = {"error_class": "UPSTREAM_5XX"}
    failed = says(token, "made of it", outcome="failure", error=error)._replace(has_id=False)

    for _ in range(2):
        handle(failed)
    clock.advance(60)
    run_inline(app)
    handle(failed)

    assert job.get().state is JobState.QUEUED
    assert events(app, job).count("retried") == 2


class LateHands(ManualClock):
    """A clock by which every message came some seconds before it is handled."""

    def __init__(self, lag_s: float) -> None:
        super().__init__()
        self.lag_s = lag_s

    def instant_of(self, reading_s: float) -> Instant:
        assert reading_s == 123.0
        return Instant(self.now() - int(self.lag_s * 1_000_000))


@pytest.mark.parametrize(("lag_s", "state"), [(1.0, "queued"), (0.5, "failed")])
def test_a_reply_counts_by_when_it_came_and_not_by_when_it_was_handled(open_app, lag_s, state):
    clock = LateHands(lag_s)
    app, job, token = asked(open_app, clock, deadline=60)
    clock.advance(61)

    handle = replied(app.receive_answer, clock=app.clock)
    handle(reply(token, 87)._replace(arrived_s=123.0))

    assert job.get().state == state


def at_once(work) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
