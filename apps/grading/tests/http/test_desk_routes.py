"""What teachers, operators and graders do over HTTP."""

from __future__ import annotations

import uuid

import pytest

from apps.grading.tests.pages.grading_stand_in import pending
from apps.grading.tests.sides import RESULT, completed, failed, progressed
from holdfast.testing import run_inline

GRADE = {"overallScore": 6.0, "band": "B2"}


def refusal(answer):
    return answer.status_code, answer.json()["code"]


@pytest.fixture
def settings():
    return {"review_below": 80}


def unsure(main, confidence=40):
    """Have a submission graded with little confidence; return its id."""
    request = main.requested()
    main.take(completed(request, result=RESULT | {"confidenceScore": confidence}))
    return request["submissionId"]


def test_a_teacher_claims_grades_and_the_learner_sees_the_final_result(visit, main):
    teacher, learner = visit("operator"), visit("reader", "lan")
    submission = unsure(main)
    path = f"/api/admin/submissions/{submission}"
    assert learner.get(f"/api/submissions/{submission}").json()["result"] is None
    [waiting] = teacher.get("/api/admin/submissions/pending-review").json()["items"]
    assert waiting["submissionId"] == submission
    assert waiting["result"]["overallScore"] == 6.5
    assert set(waiting) == set(pending("sub-1", "High")), "what the page is tested against"
    claimed = teacher.post(f"{path}/claim").json()
    assert claimed["claimedBy"].startswith("operator")

    final = teacher.put(f"{path}/review", json={**GRADE, "reviewComment": "Fine"})
    again = teacher.put(f"{path}/review", json=GRADE)

    assert final.status_code == 200
    assert refusal(again) == (409, "CONFLICT")
    seen = learner.get(f"/api/submissions/{submission}").json()
    assert (seen["status"], seen["result"]["gradingMode"]) == ("COMPLETED", "hybrid")
    assert seen["result"]["overallScore"] == 6.0
    assert seen["result"]["reviewComment"] == "Fine"
    assert [each["overallScore"] for each in seen["versions"]] == [6.5]
    assert teacher.get("/api/admin/submissions/pending-review").json()["items"] == []


def test_a_reader_who_may_review_is_a_teacher_and_no_operator(visit, main):
    teacher = visit("reader", may=("grading.review",))
    submission = unsure(main)
    path = f"/api/admin/submissions/{submission}"

    assert teacher.get(f"/api/submissions/{submission}").json()["result"]["overallScore"] == 6.5
    assert teacher.post(f"{path}/claim").status_code == 200
    assert teacher.put(f"{path}/review", json=GRADE).status_code == 200
    assert refusal(teacher.post(f"/api/submissions/{submission}/retry")) == (403, "role_missing")
    assert refusal(teacher.post("/api/grading/dlq/none/discard")) == (403, "role_missing")


def test_a_claim_keeps_others_out_until_it_is_given_back(visit, main):
    one, other = visit("operator"), visit("operator")
    path = f"/api/admin/submissions/{unsure(main)}"
    one.post(f"{path}/claim")

    refused = other.post(f"{path}/claim")
    assert refusal(refused) == (409, "CONFLICT")
    assert refused.json()["heldBy"].startswith("operator")
    assert refusal(other.put(f"{path}/review", json=GRADE)) == (409, "CONFLICT")
    assert one.post(f"{path}/release").json()["claimedBy"] is None
    assert other.post(f"{path}/claim").status_code == 200


MISFITS = [
    {"overallScore": 6.3, "band": "B2"},
    {"overallScore": 11, "band": "C1"},
    {"overallScore": 6.0, "band": "C1"},
    {"overallScore": "6", "band": "B2"},
    {"band": "B2"},
    {**GRADE, "criteriaScores": {"charm": 5}},
    {**GRADE, "feedback": {"praise": []}},
    {**GRADE, "more": 1},
]


def test_a_grade_that_does_not_fit_is_refused(visit, main):
    teacher, path = visit("operator"), f"/api/admin/submissions/{unsure(main)}/review"

    for body in MISFITS:
        assert refusal(teacher.put(path, json=body)) == (400, "VALIDATION_ERROR"), body


DESKS = (
    "GET /api/admin/submissions/pending-review",
    "POST /api/admin/submissions/{id}/claim",
    "POST /api/admin/submissions/{id}/release",
    "PUT /api/admin/submissions/{id}/review",
    "GET /api/grading/operations",
    "GET /api/grading/dlq",
    "POST /api/grading/dlq/{id}/retry",
    "POST /api/grading/dlq/{id}/discard",
)


def test_desks_are_closed_to_learners_and_to_one_owners_operators(visit, main):
    submission = unsure(main)
    learner, own, reader = visit(), visit("operator", "lan"), visit("reader")

    for route in DESKS:
        method, path = route.split()
        given = {"url": path.format(id=submission), "json": GRADE if method == "PUT" else None}
        assert refusal(learner.request(method, **given)) == (401, "credentials_missing"), route
        own_answer = own.request(method, **given)
        assert own_answer.status_code == 403, route
        assert own_answer.json()["code"] in ("scope_missing", "role_missing"), route
        if method != "GET":
            assert refusal(reader.request(method, **given)) == (403, "role_missing"), route


def test_what_waits_for_no_review_cannot_be_claimed(visit, main):
    teacher = visit("operator")
    request = main.requested()

    for what in ("claim", "release"):
        under_way = teacher.post(f"/api/admin/submissions/{request['submissionId']}/{what}")
        absent = teacher.post(f"/api/admin/submissions/01J00000000000000000000000/{what}")
        assert refusal(under_way) == (409, "wrong_state")
        assert refusal(absent) == (403, "FORBIDDEN")


def test_operations_have_the_shape_that_is_documented(visit, main):
    main.take(progressed(main.requested(), "queued"))
    found = visit("reader").get("/api/grading/operations").json()

    assert set(found) == {
        "outbox",
        "broker",
        "grader",
        "breakers",
        "timedOutToday",
        "lateToday",
        "dlqOpen",
        "callsInDoubt",
        "costTodayUsd",
    }
    assert set(found["outbox"]) == {"pending", "oldestSeconds"}
    assert found["outbox"]["pending"] == 1
    assert found["grader"]["lastSeenAt"] is not None


def test_everybody_may_know_whether_grading_is_paused(visit):
    found = visit().get("/api/grading/service").json()

    assert found == {
        "paused": False,
        "audioMaxBytes": 400_000,
        "audioMaxSeconds": 600.0,
        "reviews": True,
    }


def test_a_grader_answers_over_http_and_a_repeat_changes_nothing(visit, main):
    grader = visit()
    request = main.requested()
    submission = request["submissionId"]
    body = completed(request)

    taken = grader.post("/api/grading/callback", json=body)
    again = grader.post("/api/grading/callback", json=body)

    assert (taken.status_code, taken.json()["standing"]) == (202, "taken")
    assert (again.status_code, again.json()["standing"]) == (200, "repeated")
    assert main.status(submission) == "COMPLETED"


@pytest.mark.parametrize("walk_ins", [False])
def test_a_callback_needs_no_other_credential_than_its_token(visit, main):
    request = main.requested()
    body = progressed(request, "analyzing")

    assert visit().post("/api/grading/callback", json=body).status_code == 202
    assert main.status(request["submissionId"]) == "PROCESSING"


def test_a_callback_with_a_bad_token_is_refused_also_for_an_operator(visit, main):
    request, other = main.requested(), main.requested(key="other")
    forged = completed(request, callbackToken="x" * 40)
    anothers = completed(request, callbackToken=other["callbackToken"])

    for client in (visit(), visit("operator")):
        for body in (forged, anothers):
            answer = client.post("/api/grading/callback", json=body)
            assert refusal(answer) == (403, "callback_refused")
    assert main.status(request["submissionId"]) == "PENDING"


MISCALLED = [
    {"result": None},
    {"result": RESULT | {"overallScore": 11}},
    {"result": RESULT | {"band": "C1"}},
    {"eventId": "no-uuid"},
    {"schemaVersion": 2},
    {"status": "done"},
]


def test_a_callback_that_does_not_fit_is_refused_and_changes_nothing(visit, main):
    request = main.requested()
    grader = visit()

    for change in MISCALLED:
        answer = grader.post("/api/grading/callback", json=completed(request) | change)
        assert refusal(answer) == (400, "VALIDATION_ERROR"), change
    assert main.status(request["submissionId"]) == "PENDING"


def test_a_callback_after_the_deadline_is_taken_as_late(visit, main, clock):
    request = main.requested()
    clock.advance(20 * 60 + 1)
    answer = visit().post("/api/grading/callback", json=completed(request))

    assert (answer.status_code, answer.json()["standing"]) == (202, "late")
    assert main.status(request["submissionId"]) == "FAILED"


def test_no_token_of_an_earlier_attempt_is_taken(visit, main):
    request = main.requested()
    main.take(failed(request, "INTERNAL"))
    main.submissions.retry(request["submissionId"], by="test")
    run_inline(main.app)
    late = completed(request, eventId=str(uuid.uuid4()))

    answer = visit().post("/api/grading/callback", json=late)

    assert refusal(answer) == (403, "callback_refused")
