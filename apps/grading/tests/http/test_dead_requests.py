"""Requests that were given up, as operators work them through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apps.grading.tests.pages.grading_stand_in import letter as stand_in
from apps.grading.tests.sides import Pair, ScriptedAssessor, made_pair, message, scripted_tools
from grading.messages.contract import DLQ
from holdfast import GiveUp
from holdfast.testing import ManualClock


@pytest.fixture
def assessor() -> ScriptedAssessor:
    return ScriptedAssessor()


@pytest.fixture
def pair(database_url: str, clock: ManualClock, assessor: ScriptedAssessor) -> Iterator[Pair]:
    with made_pair(database_url, scripted_tools(assessor), clock=clock) as made:
        yield made


@pytest.fixture
def main(pair: Pair):
    return pair.main


def refusal(answer):
    return answer.status_code, answer.json()["code"]


@pytest.fixture
def dead(pair: Pair, assessor: ScriptedAssessor) -> str:
    """A submission whose request the provider refused for good."""
    assessor.script = [GiveUp("PROVIDER_AUTH", "the key is not good")]
    submission = pair.main.submit().view.submission_id
    pair.run()
    assert pair.view(submission).failure_reason == "PROVIDER_AUTH"
    return submission


def test_a_dead_request_is_listed_graded_again_and_gone(visit, pair, dead):
    operator = visit("operator")
    [letter] = operator.get("/api/grading/dlq").json()["items"]
    assert (letter["submissionId"], letter["failureReason"]) == (dead, "PROVIDER_AUTH")
    assert (letter["skill"], letter["attemptsMade"], letter["canRetry"]) == ("writing", 1, True)
    assert operator.get("/api/grading/operations").json()["dlqOpen"] == 1
    assert set(letter) == set(stand_in("dead-1")), "what the page is tested against"

    retried = operator.post(f"/api/grading/dlq/{letter['id']}/retry")
    pair.run()

    assert retried.status_code == 200
    assert pair.view(dead).status == "COMPLETED"
    assert operator.get("/api/grading/dlq").json()["items"] == []
    again = operator.post(f"/api/grading/dlq/{letter['id']}/retry")
    assert refusal(again) == (409, "wrong_state")


def test_the_letter_of_a_message_is_closed_when_its_submission_is_graded_again(visit, pair, dead):
    operator = visit("operator")
    [letter] = operator.get("/api/grading/dlq").json()["items"]
    operator.post(f"/api/grading/dlq/{letter['id']}/discard")
    record = {"requestId": None, "submissionId": dead, "failureReason": "WORKER_LOST"}
    pair.app.handle_dead_letters(queue=DLQ)(message(DLQ, record))
    [moved] = operator.get("/api/grading/dlq").json()["items"]

    retried = operator.post(f"/api/grading/dlq/{moved['id']}/retry")
    pair.run()

    assert (moved["submissionId"], moved["failureReason"]) == (dead, "WORKER_LOST")
    assert retried.status_code == 200
    assert pair.view(dead).status == "COMPLETED"
    assert operator.get("/api/grading/dlq").json()["items"] == []


def test_a_discarded_one_is_closed_and_its_submission_stays_failed(visit, pair, dead):
    operator = visit("operator")
    [letter] = operator.get("/api/grading/dlq").json()["items"]
    path = f"/api/grading/dlq/{letter['id']}/discard"

    first, second = operator.post(path), operator.post(path)

    assert (first.status_code, refusal(second)) == (200, (409, "wrong_state"))
    assert operator.get("/api/grading/dlq").json()["items"] == []
    assert pair.view(dead).failure_reason == "PROVIDER_AUTH"


def test_a_letter_of_nothing_is_refused(visit):
    operator = visit("operator")

    for what in ("retry", "discard"):
        absent = operator.post(f"/api/grading/dlq/01J00000000000000000000000/{what}")
        assert refusal(absent) == (403, "FORBIDDEN")
