"""A submission as server-sent events, over real sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from apps.grading.tests.http.conftest import served_by
from apps.grading.tests.sides import Main, completed, failed, made_main, progressed
from grading.http.events import event_of
from grading.http.routes import routes_of
from grading.http.stream import News
from grading.main.views.view import SubmissionView
from grading.states import FailureReason, Skill, Status, Step
from holdfast.api import ApiOptions, Server, create_api
from holdfast.api.streams import END
from tests.api.event_client import EventClient, waited

VIEW = SubmissionView(
    submission_id="sub-1",
    request_id="00000000-0000-4000-8000-000000000000",
    user_id="lan",
    skill=Skill.WRITING,
    question_id="w2-tourism",
    attempt=1,
    status=Status.PENDING,
    step=Step.QUEUED,
    progress=0.0,
    message=None,
    failure_reason=None,
    last_error=None,
    attempts_made=None,
    created_at=datetime(2026, 1, 31, tzinfo=UTC),
    deadline_at=datetime(2026, 1, 31, 1, tzinfo=UTC),
    completed_at=None,
    is_late=False,
    result=None,
    late_result=None,
    answer={"text": "…"},
)
ANALYZING = replace(
    VIEW,
    status=Status.PROCESSING,
    step=Step.ANALYZING,
    progress=0.4,
    message="going on",
    progress_event_id="event-1",
)
REVIEWED = replace(VIEW, status=Status.REVIEW_REQUIRED, step=None, result={"overallScore": 9.0})
DONE = replace(VIEW, status=Status.COMPLETED, step=None, result={"overallScore": 6.5, "band": "B2"})
FAILED = replace(
    VIEW, status=Status.FAILED, step=None, failure_reason=FailureReason.TIMEOUT, last_error="late"
)


@pytest.mark.parametrize(
    ("view", "name", "data"),
    [
        (
            ANALYZING,
            "grading.progress",
            {"status": "PROCESSING", "step": "analyzing", "progress": 0.4, "message": "going on"},
        ),
        (REVIEWED, "grading.review_required", {"status": "REVIEW_REQUIRED"}),
        (
            DONE,
            "grading.completed",
            {
                "status": "COMPLETED",
                "score": 6.5,
                "band": "B2",
                "resultUrl": "/base/api/submissions/sub-1",
            },
        ),
        (
            FAILED,
            "grading.failed",
            {"status": "FAILED", "reason": "TIMEOUT", "errorCode": "TIMEOUT", "message": "late"},
        ),
    ],
)
def test_every_state_has_its_event(view, name, data):
    event = event_of(view, root="/base")

    assert (event.name, event.data) == (name, {"submissionId": "sub-1", **data})


def test_no_two_states_have_the_same_id():
    later = replace(ANALYZING, progress_event_id="event-2")
    again = replace(DONE, attempt=2)
    views = [VIEW, ANALYZING, later, REVIEWED, DONE, again, FAILED, replace(FAILED, attempt=2)]

    assert len({event_of(view, root="").id for view in views}) == len(views)


def test_a_state_is_sent_once_and_the_stream_goes_on_until_the_end():
    states = [VIEW, VIEW, ANALYZING, ANALYZING, REVIEWED, REVIEWED, DONE]
    present = iter(states)
    news = News(lambda: next(present), root="")

    sent = [news() for _ in states]

    names = [[each if each is END else each[0] for each in some] for some in sent]
    assert names == [
        ["grading.progress"],
        [],
        ["grading.progress"],
        [],
        ["grading.review_required"],
        [],
        ["grading.completed", END],
    ]


@pytest.fixture
def main(database_url: str) -> Iterator[Main]:
    with made_main(database_url) as made:
        yield made


@pytest.fixture
def follow(main: Main, files) -> Iterator[Callable[..., EventClient]]:
    """Open the stream of a submission as the bearer of a token of an owner."""
    options = ApiOptions(host="127.0.0.1")
    api = create_api(main.app, options=options)
    api.include_router(routes_of(served_by(main, files)))
    server = Server(api, options=options, grace_s=3)
    server.start()
    clients: list[EventClient] = []

    def one(submission_id: str, *, owner: str | None = "lan", last_id: str | None = None):
        name = f"{owner}-{len(clients)}"
        _, token = main.app.tokens.create(name, role="reader", owner=owner, by="test")
        path = f"/api/sse/submissions/{submission_id}"
        clients.append(EventClient(server.address, path, token=token, last_id=last_id))
        return clients[-1]

    yield one
    for client in clients:
        client.close()
    server.request_stop()
    server.wait(10)


def test_a_stream_has_the_present_state_then_every_step_and_ends_with_the_result(main, follow):
    request = main.requested()
    client = follow(request["submissionId"])
    client.wait_for("grading.progress")
    main.take(progressed(request, "analyzing", 0.4))
    assert waited(lambda: client.events[-1].data.get("step") == "analyzing")
    main.take(completed(request))
    client.wait_for("grading.completed")

    assert waited(lambda: client.ended)
    assert client.headers["content-type"].startswith("text/event-stream")
    assert client.headers["cache-control"] == "no-cache"
    assert client.headers["x-accel-buffering"] == "no"
    assert client.retry_ms == 5_000
    assert client.events[-1].data["score"] == 6.5
    assert all(each.id for each in client.events)
    ids = [each.id for each in client.events]
    assert len(set(ids)) == len(ids)


def test_who_comes_again_gets_what_was_missed_and_nothing_twice(main, follow):
    request = main.requested()
    with follow(request["submissionId"]) as first:
        first.wait_for("grading.progress")
    main.take(failed(request, "CONTENT_POLICY"))
    again = follow(request["submissionId"], last_id=first.last_id)
    again.wait_for("grading.failed")
    assert waited(lambda: again.ended)
    over = follow(request["submissionId"], last_id=again.last_id)

    assert again.names == ["grading.failed"]
    assert again.events[-1].data["reason"] == "CONTENT_POLICY"
    assert (over.status, over.events) == (204, [])


def test_anothers_stream_and_none_are_refused_before_anything_is_streamed(main, follow):
    request = main.requested()

    foreign = follow(request["submissionId"], owner="minh")
    absent = follow("01J00000000000000000000000", owner="minh")
    teacher = follow(request["submissionId"], owner=None)

    assert (foreign.status, absent.status, teacher.status) == (403, 403, 200)
    for refused in (foreign, absent):
        assert refused.headers["content-type"] == "application/problem+json"
