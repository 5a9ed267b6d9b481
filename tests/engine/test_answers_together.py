"""Many answers at once: each means what it means alone, and what can be shares a write."""

import pytest

from holdfast import JobState, Pipeline, Wait
from holdfast.answers import AnswerReceipt, AnswerStanding, GivenAnswer, Progress
from holdfast.classify import CallbackFailure
from holdfast.errors import InvalidDocument, TokenRefused
from holdfast.runtime.outbox.callbacks import REPLIES
from holdfast.testing import run_inline

BROKEN = CallbackFailure("AUDIO_UNREADABLE", "no sound in it")


class Asked:
    """Jobs that wait, with the tokens by which they are answered."""

    def __init__(self, open_app, clock, count, *, valid_for=None, deadline=None):
        tokens = {}
        pipeline = Pipeline("grading")

        @pipeline.stage
        def ask(job) -> Wait:
            tokens[job.id] = job.callback_token(valid_for=valid_for)
            return Wait()

        self.app = open_app(pipeline, clock=clock)
        self.ids = [self.app.submit("grading", deadline=deadline).id for _ in range(count)]
        run_inline(self.app)
        self.tokens = [tokens[each] for each in self.ids]

    def give(self, *answers):
        return self.app.receive_answers(answers)

    def states(self):
        return [self.app.job(each).state for each in self.ids]

    def events(self, place):
        return [line.event for line in self.app.history(self.ids[place])]


@pytest.fixture
def asked(open_app, clock):
    return lambda count=3, **options: Asked(open_app, clock, count, **options)


def standings(receipts):
    return [each.standing if isinstance(each, AnswerReceipt) else type(each) for each in receipts]


def test_results_failures_and_progress_mean_what_they_mean_alone(asked):
    jobs = asked(3)
    first, second, third = jobs.tokens
    receipts = jobs.give(
        GivenAnswer(first, 87, message_id="m-1"),
        GivenAnswer(second, BROKEN, message_id="m-2"),
        GivenAnswer(third, Progress("half of it", 50)),
    )

    assert standings(receipts) == [AnswerStanding.ACCEPTED] * 3
    assert [each.job.id for each in receipts] == jobs.ids
    run_inline(jobs.app)
    assert jobs.states() == [JobState.COMPLETE, JobState.FAILED, JobState.WAITING]
    assert jobs.app.job(jobs.ids[0]).result == 87
    assert jobs.events(2)[-1] == "progress"
    assert jobs.app.verify() == []


def test_what_jobs_wait_for_is_read_once_and_written_once(asked):
    jobs = asked(5)
    calls: list[str] = []
    leave = jobs.app.store.timings.observe(lambda name, _took_s, _error: calls.append(name))
    jobs.give(*(GivenAnswer(token, 1) for token in jobs.tokens))
    leave()

    assert calls.count("get") == 1
    assert calls.count("apply") == 1


def test_several_answers_of_one_job_are_received_in_their_order(asked):
    jobs = asked(2)
    first, second = jobs.tokens
    receipts = jobs.give(
        GivenAnswer(first, Progress("under way")),
        GivenAnswer(second, 1, message_id="m-1"),
        GivenAnswer(first, 2, message_id="m-2"),
        GivenAnswer(first, Progress("too late")),
        GivenAnswer(second, 1, message_id="m-1"),
    )

    taken, repeated, ignored = (
        AnswerStanding.ACCEPTED,
        AnswerStanding.REPEATED,
        AnswerStanding.IGNORED,
    )
    assert standings(receipts) == [taken, taken, taken, ignored, repeated]
    assert [jobs.app.job(each).result for each in jobs.ids] == [2, 1]


def test_a_reply_that_was_handled_before_spares_the_others(asked):
    jobs = asked(3)
    first, second, third = jobs.tokens
    jobs.give(GivenAnswer(first, 1, message_id="m-1"))
    receipts = jobs.give(
        GivenAnswer(second, 2, message_id="m-1"),
        GivenAnswer(third, 3, message_id="m-3"),
    )

    assert standings(receipts) == [AnswerStanding.REPEATED, AnswerStanding.ACCEPTED]
    assert jobs.states() == [JobState.COMPLETE, JobState.WAITING, JobState.COMPLETE]
    assert jobs.app.store.inbox.has(REPLIES, "m-3")


def test_a_job_that_has_moved_on_since_it_was_read_spares_the_others(asked):
    jobs = asked(2)
    known = jobs.app.read_jobs(jobs.ids)
    jobs.app.cancel(jobs.ids[0], by="test")
    receipts = jobs.give(
        *(
            GivenAnswer(token, 1, message_id=f"m-{job_id}", job=known[job_id])
            for job_id, token in zip(jobs.ids, jobs.tokens, strict=True)
        )
    )

    assert standings(receipts) == [AnswerStanding.LATE, AnswerStanding.ACCEPTED]
    assert jobs.states() == [JobState.CANCELLED, JobState.COMPLETE]


def test_what_is_refused_is_returned_and_spares_the_others(asked, clock):
    jobs = asked(3, valid_for=60)
    first, second, third = jobs.tokens
    refused = jobs.give(
        GivenAnswer("forged", 1), GivenAnswer(first, object()), GivenAnswer(second, 2)
    )
    clock.advance(61)
    expired = jobs.give(GivenAnswer(first, 1), GivenAnswer(third, 1))

    assert standings(refused) == [TokenRefused, InvalidDocument, AnswerStanding.ACCEPTED]
    assert standings(expired) == [TokenRefused, TokenRefused]
    assert jobs.states() == [JobState.WAITING, JobState.COMPLETE, JobState.WAITING]


def test_answers_after_the_deadline_are_kept_as_late(asked, clock):
    jobs = asked(2, deadline=60)
    clock.advance(61)
    receipts = jobs.give(
        *(GivenAnswer(token, 9, message_id=f"m-{token[-6:]}") for token in jobs.tokens)
    )

    assert standings(receipts) == [AnswerStanding.LATE] * 2
    assert [jobs.app.job(each).late_result for each in jobs.ids] == [9, 9]
    assert jobs.states() == [JobState.FAILED] * 2


def test_several_jobs_are_read_at_once_and_those_that_are_not_there_left_out(asked):
    jobs = asked(2)
    gone = "01990000-0000-7000-8000-000000000000"

    assert set(jobs.app.read_jobs([*jobs.ids, gone])) == set(jobs.ids)
    assert jobs.app.read_jobs(jobs.ids, owner="somebody else") == {}
    assert jobs.app.read_jobs([]) == {}
