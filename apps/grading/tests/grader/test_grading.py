import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import (
    REFUSED,
    Pair,
    ScriptedAssessor,
    Unavailable,
    made_pair,
    message,
    scripted_tools,
)
from grading.calls import RawAnswer
from grading.grader.intake import Intake
from grading.grader.rows import RequestRow, begin_answering, read_request
from grading.messages.contract import CALLBACK, REQUEST
from grading.states import Skill
from holdfast import GiveUp, JobFilter
from holdfast.errors import UnavailableError
from holdfast.messaging import OutboxFilter
from holdfast.testing import ManualClock, run_inline

MakePair = Callable[..., Pair]


@pytest.fixture
def assessor() -> ScriptedAssessor:
    return ScriptedAssessor()


@pytest.fixture
def make_pair(
    database_url: str, clock: ManualClock, assessor: ScriptedAssessor
) -> Iterator[MakePair]:
    with ExitStack() as opened:

        def make(**given: object) -> Pair:
            text = {
                name: given.pop(name) for name in ("runs", "max_cost_usd_per_day") & given.keys()
            }
            tools = scripted_tools(assessor, **text)
            return opened.enter_context(made_pair(database_url, tools, clock=clock, **given))

        yield make


def test_an_essay_is_graded_from_submission_to_result(make_pair: MakePair):
    pair = make_pair()
    made = pair.main.submit()
    pair.run()
    view = pair.view(made.view.submission_id)

    assert (view.status, view.result["overallScore"]) == ("COMPLETED", 6.5)
    assert view.result["cost"] == {"usd": 0.01, "inputTokens": 100, "outputTokens": 10}
    assert view.attempts_made == 1
    assert pair.steps() == ["queued", "analyzing", "scoring", "completed"]
    assert pair.records == []


def test_a_duplicate_request_is_charged_once(make_pair: MakePair, assessor: ScriptedAssessor):
    pair = make_pair()
    made = pair.main.submit()
    run_inline(pair.app)
    request = pair.main.request_of(made.view.submission_id)
    for _ in range(5):
        pair.grader.intake.handle(message(REQUEST, request))
    pair.run()
    pair.grader.intake.handle(message(REQUEST, request))
    pair.run()

    assert len(assessor.calls) == 1
    assert len(pair.app.jobs(JobFilter(pipeline="grade"))) == 1
    assert pair.view(made.view.submission_id).status == "COMPLETED"


def test_requests_that_wait_are_taken_together_each_once_and_poison_makes_no_job(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    pair = make_pair()
    known, *new = [pair.main.requested() for _ in range(4)]
    pair.lost.add(REQUEST)
    pair.grader.intake.handle(message(REQUEST, known))
    poison = {**known, "schemaVersion": 2}
    pair.grader.intake.handle_many(
        [message(REQUEST, each) for each in (new[0], known, poison, *new, new[1])]
    )
    pair.run()

    assert len(pair.app.jobs(JobFilter(pipeline="grade"))) == len(assessor.calls) == 4
    assert [each["failureReason"] for each in pair.records] == ["INVALID_SCHEMA"]
    for request in new:
        mine = [each for each in pair.callbacks if each["requestId"] == request["requestId"]]
        assert mine[0]["progress"]["step"] == "queued"
        assert pair.view(request["submissionId"]).status == "COMPLETED"


def test_every_run_of_the_assessment_is_a_stage_of_its_own(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    pair = make_pair(runs=3)
    made = pair.main.submit()
    pair.run()
    view = pair.view(made.view.submission_id)

    assert len(set(assessor.tokens)) == 3
    assert view.result["details"] == {"evidences": 3}


def test_an_answer_that_does_not_fit_is_repaired_at_most_twice(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    assessor.script = ["no json", "{}x"]
    pair = make_pair()
    made = pair.main.submit()
    pair.run()
    view = pair.view(made.view.submission_id)

    assert view.status == "COMPLETED"
    assert [task.repair for task, _ in assessor.calls] == [None, *["it is not evidence"] * 2]
    assert len(set(assessor.tokens)) == 3
    assert view.result["cost"]["usd"] == pytest.approx(0.03)


def test_three_answers_that_do_not_fit_end_the_request(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    assessor.script = ["a", "b", "c"]
    pair = make_pair()
    made = pair.main.submit()
    pair.run()
    view = pair.view(made.view.submission_id)
    pair.main.submissions.retry(made.view.submission_id, by="operator")
    pair.run()

    assert (view.status, view.failure_reason) == ("FAILED", "PROVIDER_ERROR")
    assert [record["failureReason"] for record in pair.records] == ["PROVIDER_ERROR"]
    assert pair.view(made.view.submission_id).status == "COMPLETED"
    assert len(set(assessor.tokens)) == 4


def test_a_refusal_of_the_model_is_paid_once_and_another_answer_asked_for_by_an_operator(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    assessor.script = [REFUSED]
    pair = make_pair()
    made = pair.main.submit()
    pair.run(for_s=20)
    view = pair.view(made.view.submission_id)
    pair.main.submissions.retry(made.view.submission_id, by="operator")
    pair.run()

    assert view.status == "FAILED"
    assert pair.view(made.view.submission_id).status == "COMPLETED"
    assert len(set(assessor.tokens)) == len(assessor.calls) == 2


def test_failures_of_the_provider_are_retried_and_then_given_up(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    assessor.script = [Unavailable(503) for _ in range(4)]
    pair = make_pair()
    made = pair.main.submit()
    pair.run(for_s=20)
    view = pair.view(made.view.submission_id)
    record = pair.records[0]

    assert len(assessor.calls) == 4
    assert len(set(assessor.tokens)) == 1
    assert (view.failure_reason, view.attempts_made) == ("MAX_RETRIES", 4)
    assert pair.steps().count("retrying") == 3
    assert record["requestId"] == view.request_id
    assert record["submissionId"] == view.submission_id
    assert (record["failureReason"], record["attemptsMade"]) == ("MAX_RETRIES", 4)
    assert record["lastError"]
    assert record["timestamp"]
    assert record["originalMessage"]["payload"]["questionId"] == "w2-tourism"


@pytest.mark.parametrize(("status", "reason"), [(400, "INTERNAL"), (422, "INTERNAL")])
def test_other_refusals_are_given_up_at_once(
    make_pair: MakePair, assessor: ScriptedAssessor, status: int, reason: str
):
    assessor.script = [Unavailable(status)]
    pair = make_pair()
    made = pair.main.submit()
    pair.run(for_s=20)

    assert len(assessor.calls) == 1
    assert pair.view(made.view.submission_id).failure_reason == reason
    assert len(pair.records) == 1


@pytest.mark.parametrize(
    "flaw",
    [
        {"schemaVersion": 2},
        {"requestId": "no uuid"},
        {"skill": "reading"},
        {"payload": {"text": "x"}},
        {"deadlineAt": "soon"},
        {"callbackToken": None},
    ],
)
def test_poison_goes_to_the_dead_letter_queue_and_makes_no_job(make_pair: MakePair, flaw: dict):
    pair = make_pair()
    made = pair.main.submit()
    run_inline(pair.app)
    request = pair.main.request_of(made.view.submission_id) | flaw
    pair.lost.add(REQUEST)
    pair.grader.intake.handle(
        message(REQUEST, request, message_id="11111111-1111-4111-8111-111111111111")
    )
    pair.grader.intake.handle(
        message(REQUEST, request, message_id="11111111-1111-4111-8111-111111111111")
    )
    pair.run()

    assert [record["failureReason"] for record in pair.records] == ["INVALID_SCHEMA"]
    assert pair.records[0]["originalMessage"] == request
    assert pair.app.jobs(JobFilter(pipeline="grade")) == []


def test_a_late_result_heals_a_retried_submission_without_a_new_charge(
    make_pair: MakePair, assessor: ScriptedAssessor, clock: ManualClock
):
    pair = make_pair()
    made = pair.main.submit()
    submission_id = made.view.submission_id
    run_inline(pair.app)
    clock.advance(1_201)
    pair.run()
    late = pair.view(submission_id)
    pair.main.submissions.retry(submission_id, by="operator")
    pair.run()
    healed = pair.view(submission_id)

    assert (late.status, late.failure_reason, late.is_late) == ("FAILED", "TIMEOUT", True)
    assert (healed.status, healed.attempt, healed.is_late) == ("COMPLETED", 2, False)
    assert len(assessor.calls) == 1


def test_a_retry_after_a_timeout_gets_the_result_of_the_run_under_way(
    make_pair: MakePair, assessor: ScriptedAssessor, clock: ManualClock
):
    pair = make_pair()
    made = pair.main.submit()
    submission_id = made.view.submission_id
    run_inline(pair.app)
    pair.carry()
    clock.advance(1_201)
    pair.app.pause_queue("grading", by="test")
    pair.run()
    pair.main.submissions.retry(submission_id, by="operator")
    pair.run()
    waiting = pair.view(submission_id)
    pair.app.resume_queue("grading")
    pair.run()

    assert (waiting.status, waiting.attempt) == ("PROCESSING", 2)
    assert pair.view(submission_id).status == "COMPLETED"
    assert len(assessor.calls) == 1


class FailsWhileLocked(ScriptedAssessor):
    """Refuses its first call for good, and keeps the job locked, so that nothing is written yet."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.lock = psycopg.connect(url)

    def assess(self, *given: Any, **named: Any) -> RawAnswer:
        if not self.calls:
            self.script.append(Unavailable(401))
            self.lock.execute("select 1 from holdfast.job where pipeline = 'grade' for update")
        return super().assess(*given, **named)


def test_a_retry_that_comes_while_the_failure_before_it_is_written_is_graded_once_more(
    postgres_url: str, clock: ManualClock
):
    assessor = FailsWhileLocked(postgres_url)
    with assessor.lock, made_pair(postgres_url, scripted_tools(assessor), clock=clock) as pair:
        submission_id = pair.main.submit().view.submission_id
        run_inline(pair.app)
        pair.carry()
        pair.app.pause_queue("grading", by="test")
        clock.advance(1_201)
        pair.run()
        pair.main.submissions.retry(submission_id, by="operator")
        run_inline(pair.app)
        request = pair.main.request_of(submission_id)

        def stored() -> RequestRow:
            with pair.app.transaction() as tx:
                return read_request(tx, request["requestId"])

        pair.app.resume_queue("grading")
        with ThreadPoolExecutor() as threads:
            failing = threads.submit(run_inline, pair.app)
            wait_for(lambda: stored().answering)
            taking = threads.submit(pair.grader.intake.handle, message(REQUEST, request))
            wait_for(lambda: stored().callback_token == request["callbackToken"])
            assessor.lock.rollback()
            failing.result(20)
            taking.result(20)
        with pytest.raises(GiveUp, match="of an earlier attempt"):
            pair.run()
        pair.run()

        assert pair.view(submission_id).status == "COMPLETED"
        assert len(assessor.calls) == 2


def rights_told(pair: Pair, status: str) -> list[str]:
    """Return whom the grader has published something of a status for, in order."""
    found = pair.app.outbox.find(OutboxFilter(message_type=CALLBACK), limit=500)
    sent = [json.loads(each.payload) for each in sorted(found, key=lambda each: each.position)]
    return [each["callbackToken"] for each in sent if each["status"] == status]


def test_a_retry_that_comes_while_an_end_is_written_comes_again_until_that_is_done(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    pair = make_pair()
    request = pair.main.requested()
    pair.carry()
    pair.lost.add(CALLBACK)
    skills = {Skill.WRITING: pair.grader.pipelines[0]}
    intake = Intake(lambda: pair.app, skills, late_grace_s=1_800.0, redact_dlq=False, settles_s=0.1)
    with pair.app.transaction() as tx:
        begin_answering(tx, request["requestId"])  # as whoever writes an end does before it
    later = message(REQUEST, {**request, "attempt": 2, "callbackToken": "later"})
    with pytest.raises(UnavailableError, match="is being written"):
        intake.handle(later)
    assessor.script = [Unavailable(401)]
    pair.run()
    intake.handle(later)
    pair.run()

    assert rights_told(pair, "error") == ["later"]
    assert len(assessor.calls) == 1


def test_a_right_to_answer_that_comes_after_a_failure_hears_of_it_once(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    assessor.script = [Unavailable(401)]
    pair = make_pair()
    request = pair.main.requested()
    pair.run()
    pair.lost.add(CALLBACK)
    for _ in range(2):
        pair.grader.intake.handle(message(REQUEST, {**request, "callbackToken": "newer"}))
    pair.run()

    assert rights_told(pair, "error") == [request["callbackToken"], "newer"]
    assert len(assessor.calls) == 1


def test_a_lost_callback_is_published_again_when_the_request_comes_again(
    make_pair: MakePair, assessor: ScriptedAssessor
):
    pair = make_pair()
    made = pair.main.submit()
    run_inline(pair.app)
    request = pair.main.request_of(made.view.submission_id)
    pair.lost.add("grading.callback")
    pair.run()
    pair.lost.clear()
    pair.grader.intake.handle(message(REQUEST, request))
    pair.run()

    assert pair.view(made.view.submission_id).status == "COMPLETED"
    assert len(assessor.calls) == 1


def test_a_request_that_comes_after_deadline_and_grace_is_not_graded(
    make_pair: MakePair, assessor: ScriptedAssessor, clock: ManualClock
):
    pair = make_pair()
    pair.main.submit()
    run_inline(pair.app)
    clock.advance(1_200 + 1_801)
    pair.run()

    assert assessor.calls == []
    assert [record["failureReason"] for record in pair.records] == ["TIMEOUT"]


def test_the_daily_limit_of_cost_stops_paid_calls_until_the_day_is_over(
    make_pair: MakePair, assessor: ScriptedAssessor, clock: ManualClock
):
    clock.advance(86_400 - 120)
    pair = make_pair(max_cost_usd_per_day=0.01)
    first = pair.main.submit()
    pair.run()
    second = pair.main.submit()
    pair.run()
    waiting = pair.view(second.view.submission_id)
    pair.run(for_s=150, step_s=10)

    assert pair.view(first.view.submission_id).status == "COMPLETED"
    assert (waiting.status, waiting.step) == ("PROCESSING", "circuit_open")
    assert pair.view(second.view.submission_id).status == "COMPLETED"
    assert len(assessor.calls) == 2


def test_a_cancelled_grading_fails_the_submission(make_pair: MakePair):
    pair = make_pair()
    made = pair.main.submit()
    run_inline(pair.app)
    pair.carry()
    [job] = pair.app.jobs(JobFilter(pipeline="grade"))
    pair.app.cancel(job.id, by="operator")
    pair.run()

    assert pair.view(made.view.submission_id).failure_reason == "CANCELLED"
