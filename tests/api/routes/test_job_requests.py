"""What requests about jobs may hold, and what becomes of those that hold something else."""

from __future__ import annotations

import pytest

from holdfast.api.requests.paging import cursor_of
from holdfast.core.job.job import Job

MEANT = {
    "pipeline": "p",
    "payload": {},
    "version": 1,
    "queue": "q",
    "priority": 1,
    "run_at": "2026-01-02T00:00:00Z",
    "deadline_at": "2126-01-02T00:00:00Z",
    "owner": "ann",
}
"""What a submission may say of the columns that a job has."""


@pytest.fixture
def client(steady_client):
    """One API for all of them: what is refused leaves nothing behind."""
    return steady_client


def count(client):
    active = {"state": ["queued", "processing", "waiting"]}
    body = {"filter": active, "reason": "r", "dry_run": True}
    return client.post("/api/jobs/cancel", json=body).json()["matched"]


def submit(client, payload=None, *, key=None, **more):
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(
        "/api/jobs", json={"pipeline": "p", "payload": payload, **more}, headers=headers
    )


def test_a_key_in_quotes_is_the_same_key(client):
    first = submit(client, key="order-2")

    again = submit(client, key='"order-2"')

    assert again.json()["id"] == first.json()["id"]


@pytest.mark.parametrize(
    "both",
    [
        {"delay": 1, "run_at": "2026-01-02T00:00:00Z"},
        {"deadline": 1, "deadline_at": "2026-01-02T00:00:00Z"},
        {"run_at": "2026-01-02T00:00:00"},
        {"delay": -1},
        {"priority": 4},
        {"priority": "0"},
        {"version": 0},
        {"rerun": "yes"},
        {"queue": "no\nline"},
    ],
)
def test_what_does_not_fit_is_refused_with_the_place(client, both):
    before = count(client)

    answer = submit(client, **both)

    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid_request"
    assert answer.json()["errors"]
    assert count(client) == before


@pytest.mark.parametrize(
    "payload", ['{"x": NaN}', '{"x": "\\u0000"}', '{"x": "\\ud800"}', "[" * 80 + "]" * 80]
)
def test_a_payload_that_no_database_can_hold_is_refused(client, payload):
    body = f'{{"pipeline": "p", "payload": {payload}}}'

    answer = client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_document")
    assert answer.json()["errors"][0]["pointer"].startswith("/payload")


@pytest.mark.parametrize("column", [*Job._fields, "fingerprint"])
def test_no_column_but_those_meant_for_it_can_be_set_by_whoever_submits(client, column):
    value = MEANT.get(column, "x")

    answer = client.post("/api/jobs", json={"pipeline": "p", column: value})

    if column in MEANT:
        assert answer.status_code == 201
    else:
        assert answer.status_code == 422
        assert answer.json()["errors"] == [
            {"pointer": f"/{column}", "message": "is not known here; leave it out"}
        ]


def test_lists_hold_no_documents(client):
    submit(client, {"large": "x" * 1000})

    item = client.get("/api/jobs").json()["items"][0]

    assert not {"payload", "result", "error", "late_result"} & item.keys()


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "state=no",
        "offset=5",
        "created_since=yesterday",
        "key=%00",
        "stage=a&stage=b",
        "limit=5&limit=6",
    ],
)
def test_a_query_that_is_not_known_is_refused(client, query):
    answer = client.get(f"/api/jobs?{query}")

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.json()["errors"][0]["pointer"].startswith("/query/")


@pytest.mark.parametrize(
    "cursor", ["x", "WyJib28iLCJ4Il0", "WyJqb2JzIiwieCJd", "WyJqb2JzIixbXV0", "é"]
)
def test_a_cursor_from_elsewhere_is_refused(client, cursor):
    answer = client.get("/api/jobs", params={"cursor": cursor})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize("kind", ["jobs", "dead-letters", "deliveries", "replays"])
def test_a_cursor_of_one_list_is_none_of_another(client, kind):
    cursor = cursor_of(kind, "0190163d-8694-739b-aea5-966c26f8ad90")

    answers = {
        noun: client.get(f"/api/{noun}", params={"cursor": cursor}).status_code
        for noun in ("jobs", "dead-letters", "deliveries", "replays")
    }

    assert answers.pop(kind) == 200
    assert set(answers.values()) == {400}


@pytest.mark.parametrize("path", ["", "/events", "/attempts", "/results"])
@pytest.mark.parametrize("job_id", ["0190163d-8694-739b-aea5-966c26f8ad90", "no-id", "%00", "é"])
def test_a_job_that_is_not_there_is_not_found(client, path, job_id):
    answer = client.get(f"/api/jobs/{job_id}{path}")

    assert (answer.status_code, answer.json()["code"]) == (404, "job_not_found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"filter": {}, "reason": "r"}, "/filter"),
        ({"filter": {"pipeline": "p"}}, "/reason"),
        ({"filter": {"state": ["complete"]}, "reason": "r"}, "/filter/state"),
        ({"filter": {"nope": 1}, "reason": "r"}, "/filter/nope"),
        ({"reason": "r"}, "/filter"),
        ({"filter": {}, "everything": True, "reason": "r"}, "/everything"),
    ],
)
def test_a_bulk_action_without_a_reason_or_a_filter_is_refused(client, body, pointer):
    submit(client)

    answer = client.post("/api/jobs/cancel", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [pointer]
    assert client.get("/api/jobs").json()["items"][0]["state"] == "queued"
