"""Submissions as learners, teachers and programs reach them."""

from __future__ import annotations

import json

import pytest

from apps.grading.tests.http.conftest import ORIGIN
from apps.grading.tests.pages.grading_stand_in import submission
from apps.grading.tests.sides import ESSAY, completed, failed, progressed
from holdfast.testing import run_inline

BODY = {"skill": "writing", "questionId": "w2-tourism", "answer": {"text": ESSAY}}


def send(client, body=BODY, key=None):
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/api/submissions", json=body, headers=headers)


def refusal(answer):
    return answer.status_code, answer.json()["code"]


def handed_in(client, main):
    """Hand an essay in and return its request."""
    made = send(client).json()
    run_inline(main.app)
    return main.request_of(made["submissionId"])


def test_an_essay_is_handed_in_followed_and_read(visit, main):
    ada = visit()
    sent = send(ada)
    document = sent.json()
    assert sent.status_code == 201
    assert sent.headers["location"] == f"/api/submissions/{document['submissionId']}"
    assert (document["status"], document["step"], document["result"]) == ("PENDING", "queued", None)
    run_inline(main.app)
    request = main.request_of(document["submissionId"])
    main.take(progressed(request, "analyzing", 0.4))
    status = ada.get(f"{sent.headers['location']}/status").json()
    assert status == {
        "submissionId": document["submissionId"],
        "status": "PROCESSING",
        "step": "analyzing",
        "progress": 0.4,
        "failureReason": None,
        "deadlineAt": document["deadlineAt"],
        "isLate": False,
    }
    main.take(completed(request))

    found = ada.get(sent.headers["location"]).json()
    events = ada.get(f"{sent.headers['location']}/events").json()["items"]
    listed = ada.get("/api/submissions").json()

    assert (found["status"], found["result"]["overallScore"]) == ("COMPLETED", 6.5)
    assert found["answer"] == {"text": ESSAY}
    assert [each["submissionId"] for each in listed["items"]] == [document["submissionId"]]
    assert "answer" not in listed["items"][0]
    assert listed["nextCursor"] is None
    assert events
    assert {"at", "event", "text"} == set(events[0])
    assert ada.get("/api/progress").json()["writing"]["count"] == 1


def test_the_pages_are_tested_against_documents_of_the_same_shape(visit, main):
    ada = visit()
    made = send(ada).json()
    page = ada.get("/api/submissions").json()

    assert set(made) == set(submission("sub-1", "PENDING"))
    assert set(page["items"][0]) == set(made) - {"answer"}


def test_a_key_makes_a_repeat_safe_and_another_body_a_conflict(visit):
    ada, ben = visit(), visit()
    first, again, quoted = send(ada, key="k"), send(ada, key="k"), send(ada, key='"k"')
    other = send(ada, {**BODY, "questionId": "w2-tourism", "answer": {"text": "Other."}}, key="k")
    foreign = send(ben, key="k")

    assert (first.status_code, again.status_code, quoted.status_code) == (201, 200, 200)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == quoted.headers["idempotency-replayed"] == "true"
    assert again.json()["submissionId"] == first.json()["submissionId"]
    assert again.headers["location"] == first.headers["location"]
    assert refusal(other) == (409, "CONFLICT")
    assert foreign.status_code == 201
    assert foreign.json()["requestId"] != first.json()["requestId"]


MISFITS = [
    ({"answer": {"text": ""}}, "/answer/text"),
    ({"answer": {"text": " \n\t"}}, "/answer/text"),
    ({"answer": {"text": "x" * 20_001}}, "/answer/text"),
    ({"answer": {"text": "a\x00b"}}, "/answer/text"),
    ({"answer": {"text": 7}}, "/answer/text"),
    ({"answer": {}}, "/answer/text"),
    ({"answer": "text"}, "/answer"),
    ({"answer": {"text": "a", "more": 1}}, "/answer/more"),
    ({"questionId": "w9-nothing"}, "/questionId"),
    ({"questionId": "s1-travel"}, "/questionId"),
    ({"skill": "listening"}, "/skill"),
    ({"skill": None}, "/skill"),
    ({"priority": 1}, "/priority"),
]
NO_DOCUMENTS = (b"{", b"", b"[]", b'"text"', b'{"skill": NaN}', b"\xff\xfe", b'{"skill":"\\ud800"}')


def test_what_does_not_fit_is_refused_with_its_place(visit):
    ada = visit()

    for change, pointer in MISFITS:
        answer = send(ada, {**BODY, **change})
        assert refusal(answer) == (400, "VALIDATION_ERROR"), change
        assert answer.headers["content-type"] == "application/problem+json"
        assert pointer in [flaw["pointer"] for flaw in answer.json()["errors"]], change


def test_a_body_that_is_no_such_document_is_refused(visit):
    ada, headers = visit(), {"Content-Type": "application/json"}

    for content in NO_DOCUMENTS:
        answer = ada.post("/api/submissions", content=content, headers=headers)
        assert refusal(answer) == (400, "VALIDATION_ERROR"), content
    unfinished = ada.post("/api/submissions", content=b"{", headers=headers).json()
    assert unfinished["errors"] == [{"pointer": "", "message": "is not JSON from character 1 on"}]


def test_half_a_character_is_refused_and_breaks_nothing(visit):
    body = json.dumps({**BODY, "answer": {"text": "half \ud83d"}})
    answer = visit().post(
        "/api/submissions", content=body, headers={"Content-Type": "application/json"}
    )

    assert refusal(answer) == (400, "VALIDATION_ERROR")


ELSEWHERE = (
    "http://169.254.169.254/latest/meta-data",
    "http://localhost/api/audio/x",
    "https://elsewhere.example/a.webm",
    "file:///etc/passwd",
    f"{ORIGIN}@evil.example/api/audio/x",
    f"{ORIGIN}/api/audio/no-such-recording",
)


def test_a_recording_from_elsewhere_is_refused(visit):
    ada = visit()

    for url in ELSEWHERE:
        answer = {"audioUrl": url, "durationSeconds": 9}
        body = {"skill": "speaking", "questionId": "s1-travel", "answer": answer}
        assert refusal(send(ada, body)) == (400, "AUDIO_REFUSED"), url


@pytest.mark.parametrize("settings", [{"submissions_per_minute": 2}])
def test_too_many_in_a_minute_are_refused_and_repeats_are_not_counted(visit, clock):
    ada = visit()
    send(ada, key="one")
    for _ in range(3):
        assert send(ada, key="one").status_code == 200
    send(ada)
    refused = send(ada)

    assert refusal(refused) == (429, "RATE_LIMITED")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert send(visit()).status_code == 201
    clock.advance(61)
    assert send(ada).status_code == 201


@pytest.mark.parametrize("settings", [{"quota_active": 1}])
def test_too_many_under_way_are_refused(visit):
    ada = visit()
    send(ada)

    assert refusal(send(ada)) == (429, "QUOTA_REACHED")


ROUTES = (
    "GET /api/submissions/{id}",
    "GET /api/submissions/{id}/status",
    "GET /api/submissions/{id}/events",
    "POST /api/submissions/{id}/cancel",
)


def test_anothers_and_none_are_refused_with_the_same_words(visit, main):
    request = handed_in(visit(), main)
    ben = visit()

    def said(answer):
        return {k: v for k, v in answer.json().items() if k not in ("instance", "request_id")}

    for route in ROUTES:
        method, path = route.split()
        foreign = ben.request(method, path.format(id=request["submissionId"]))
        absent = ben.request(method, path.format(id="01J00000000000000000000000"))
        assert refusal(foreign) == (403, "FORBIDDEN"), route
        assert (foreign.status_code, said(foreign)) == (absent.status_code, said(absent)), route


def test_a_list_has_ones_own_only_with_filters_and_pages(visit, main):
    ada, ben = visit(), visit()
    ids = [send(ada).json()["submissionId"] for _ in range(3)]
    send(ben)
    run_inline(main.app)
    main.take(completed(main.request_of(ids[0])))

    first = ada.get("/api/submissions?limit=2").json()
    rest = ada.get(f"/api/submissions?limit=2&cursor={first['nextCursor']}").json()
    done = ada.get("/api/submissions?status=COMPLETED").json()["items"]
    spoken = ada.get("/api/submissions?skill=speaking").json()["items"]

    listed = [each["submissionId"] for each in first["items"] + rest["items"]]
    assert listed == ids[::-1]
    assert [each["submissionId"] for each in done] == [ids[0]]
    assert spoken == []
    for query in ("limit=0", "limit=101", "status=DONE", "skill=x"):
        assert refusal(ada.get(f"/api/submissions?{query}")) == (400, "VALIDATION_ERROR")


def test_an_operator_retries_a_failed_one_and_nobody_else(visit, main):
    ada, operator = visit(), visit("operator")
    request = handed_in(ada, main)
    path = f"/api/submissions/{request['submissionId']}"
    assert refusal(operator.post(f"{path}/retry")) == (409, "wrong_state")
    main.take(failed(request, "PROVIDER_AUTH"))
    assert ada.get(path).json()["failureReason"] == "PROVIDER_AUTH"

    mine = ada.post(f"{path}/retry")
    reader = visit("reader").post(f"{path}/retry")
    foreign = visit("operator", "ben").post(f"{path}/retry")
    retried = operator.post(f"{path}/retry")

    assert mine.status_code == 401
    assert refusal(reader) == (403, "role_missing")
    assert refusal(foreign) == (403, "FORBIDDEN")
    assert (retried.status_code, retried.json()["attempt"]) == (200, 2)
    assert retried.json()["requestId"] == request["requestId"]


def test_an_owner_withdraws_while_it_is_pending_and_an_operator_later(visit, main):
    ada = visit()
    pending = send(ada).json()["submissionId"]
    request = handed_in(ada, main)
    main.take(progressed(request, "queued"))
    taken = request["submissionId"]

    withdrawn = ada.post(f"/api/submissions/{pending}/cancel").json()
    too_late = ada.post(f"/api/submissions/{taken}/cancel")
    by_operator = visit("operator").post(f"/api/submissions/{taken}/cancel").json()

    assert (withdrawn["status"], withdrawn["failureReason"]) == ("FAILED", "CANCELLED")
    assert refusal(too_late) == (409, "wrong_state")
    assert by_operator["failureReason"] == "CANCELLED"


def test_a_late_result_is_shown_and_changes_nothing(visit, main, clock):
    ada = visit()
    request = handed_in(ada, main)
    clock.advance(20 * 60 + 1)
    main.take(completed(request))

    found = ada.get(f"/api/submissions/{request['submissionId']}").json()

    assert (found["status"], found["failureReason"]) == ("FAILED", "TIMEOUT")
    assert (found["isLate"], found["result"]) == (True, None)
    assert found["lateResult"]["overallScore"] == 6.5
    assert ada.get("/api/progress").json()["writing"]["count"] == 0


@pytest.mark.parametrize("walk_ins", [False])
def test_without_walk_ins_credentials_are_needed(visit):
    stranger, submitter, reader = visit(), visit("submitter", "ann"), visit("reader", "ann")

    assert refusal(send(stranger)) == (401, "credentials_missing")
    assert refusal(stranger.get("/api/questions")) == (401, "credentials_missing")
    assert refusal(send(reader)) == (403, "role_missing")
    made = send(submitter)
    assert (made.status_code, made.json()["userId"]) == (201, "ann")
    path = f"/api/submissions/{made.json()['submissionId']}"
    assert reader.get(path).status_code == 200
    assert refusal(visit("reader", "ben").get(path)) == (403, "FORBIDDEN")
    assert visit("reader").get(path).status_code == 200


def test_questions_are_listed_without_the_words_that_answers_are_searched_for(visit):
    ada = visit()
    listed = ada.get("/api/questions").json()["items"]
    one = ada.get(f"/api/questions/{listed[0]['id']}").json()

    assert len(listed) >= 12
    assert one == listed[0]
    assert {"id", "skill", "title", "prompt", "requirements", "minimumWords", "taskNumber"} == set(
        one
    )
    assert {each["skill"] for each in ada.get("/api/questions?skill=speaking").json()["items"]} == {
        "speaking"
    }
    assert refusal(ada.get("/api/questions/nothing")) == (404, "not_found")
