"""The description of grading's API: every route, who may use it, and what it answers."""

from __future__ import annotations

import pytest

ROUTES = {
    "POST /api/submissions": "submitter",
    "GET /api/submissions": "reader",
    "GET /api/submissions/{job_id}": "reader",
    "GET /api/submissions/{job_id}/status": "reader",
    "GET /api/submissions/{job_id}/events": "reader",
    "POST /api/submissions/{job_id}/retry": "operator",
    "POST /api/submissions/{job_id}/cancel": "operator",
    "GET /api/sse/submissions/{job_id}": "reader",
    "POST /api/audio": "submitter",
    "GET /api/audio/{audio_id}": "reader",
    "GET /api/questions": "reader",
    "GET /api/questions/{question_id}": "reader",
    "GET /api/progress": "reader",
    "GET /api/admin/submissions/pending-review": "reader",
    "POST /api/admin/submissions/{job_id}/claim": "operator",
    "POST /api/admin/submissions/{job_id}/release": "operator",
    "PUT /api/admin/submissions/{job_id}/review": "operator",
    "GET /api/grading/operations": "reader",
    "GET /api/grading/service": "reader",
    "GET /api/grading/dlq": "reader",
    "POST /api/grading/dlq/{letter_id}/retry": "operator",
    "POST /api/grading/dlq/{letter_id}/discard": "operator",
    "POST /api/grading/callback": None,
}


@pytest.fixture
def database_url(sqlite_url):
    """The description is the same whatever the database is."""
    return sqlite_url


def test_routes_say_what_they_do_and_documents_are_in_the_words_of_the_wire(visit):
    described = visit().app.openapi()
    paths, schemas = described["paths"], described["components"]["schemas"]

    for route, role in ROUTES.items():
        method, path = route.split()
        found = paths[path][method.lower()]
        assert found["description"], route
        assert found.get("x-role") == role, route
        assert "403" in found["responses"], route
    mine = ("/api/submissions", "/api/audio", "/api/admin", "/api/grading", "/api/sse")
    named = {
        f"{method.upper()} {path}"
        for path, operations in paths.items()
        if path.startswith(mine)
        for method in operations
    }
    assert named <= set(ROUTES)
    document = schemas["SubmissionDocument"]["properties"]
    sent = schemas["AnswerSent"]["properties"]

    assert {"submissionId", "failureReason", "attemptsMade", "lateResult", "isLate"} <= set(
        document
    )
    assert set(sent) == {"text", "audioUrl", "durationSeconds", "audioSha256"}
    page = visit("reader").get("/api/reference")

    assert page.status_code == 200
    assert "callbackToken" in page.text
