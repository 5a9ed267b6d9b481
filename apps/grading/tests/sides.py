"""Main and grader on databases of tests, run step by step in the calling thread."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from grading.config import GradingConfig
from grading.main.side import MainSide
from grading.main.submissions import Made, Submissions, Wanted
from grading.messages.contract import CALLBACK, REQUEST
from holdfast import Holdfast, OutboxFilter, Received
from holdfast.testing import run_inline

TABLES = {"grading": "grading.tables"}
ESSAY = "Tourism brings money to a region. However, it also changes it. " * 12
RESULT = {
    "overallScore": 6.5,
    "band": "B2",
    "criteriaScores": {
        "taskFulfillment": 6.5,
        "organization": 6.5,
        "vocabulary": 6.0,
        "grammar": 6.5,
    },
    "confidenceScore": 92,
    "grader": "scripted",
    "gradedAt": "2026-01-01T00:00:10Z",
    "wordCount": 262,
}


class Main:
    """Main alone: what graders say is made up by the test."""

    def __init__(self, app: Holdfast, side: MainSide) -> None:
        self.app = app
        self.side = side
        self.submissions: Submissions = side.submissions()

    def submit(
        self,
        *,
        owner: str = "lan",
        key: str | None = None,
        text: str = ESSAY,
        question: str = "w2-tourism",
    ) -> Made:
        wanted = Wanted(skill="writing", question_id=question, text=text)
        return self.submissions.submit(wanted, owner=owner, key=key)

    def requested(self, **given: Any) -> dict[str, Any]:
        """Submit, run the stage that publishes, and return the request."""
        made = self.submit(**given)
        run_inline(self.app)
        return self.request_of(made.view.submission_id)

    def request_of(self, submission_id: str) -> dict[str, Any]:
        """Return the newest request of a submission."""
        found = self.app.outbox.find(OutboxFilter(message_type=REQUEST))
        mine = [message for message in found if message.aggregate_id == submission_id]
        return json.loads(max(mine, key=lambda message: message.position).payload)

    def take(self, callback: Mapping[str, Any]) -> Any:
        return self.side.callbacks.take(message(CALLBACK, callback))

    def status(self, submission_id: str) -> str:
        return self.submissions.get(submission_id, owner=None).status.value


def message(message_type: str, payload: Any, *, message_id: str | None = None) -> Received:
    """Return a message as a consumer hands it over."""
    subject = payload.get("submissionId") if isinstance(payload, dict) else None
    return Received(message_id or str(uuid4()), message_type, subject, payload)


def callback(request: Mapping[str, Any], status: str, **fields: Any) -> dict[str, Any]:
    """Return a callback to a request."""
    return {
        "schemaVersion": 1,
        "eventId": str(uuid4()),
        "requestId": request["requestId"],
        "submissionId": request["submissionId"],
        "callbackToken": request["callbackToken"],
        "status": status,
        **fields,
    }


def completed(request: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return callback(request, "completed", **{"result": RESULT, **fields})


def progressed(request: Mapping[str, Any], step: str, share: float = 0.1) -> dict[str, Any]:
    return callback(
        request, "progress", progress={"step": step, "progress": share, "message": "going on"}
    )


def failed(request: Mapping[str, Any], code: str, *, retryable: bool = False) -> dict[str, Any]:
    error = {"code": code, "message": "it did not work", "retryable": retryable}
    return callback(request, "error", error=error, metadata={"attemptsMade": 4})


@contextmanager
def made_main(url: str, **given: Any) -> Iterator[Main]:
    """Open main on a database; `clock` is for the application, the rest are settings."""
    options = {name: given.pop(name) for name in ("clock",) if name in given}
    side = MainSide(GradingConfig(**given))
    with Holdfast(url, pipelines=[side.pipeline], tables=TABLES, **options) as app:
        side.bind(app)
        yield Main(app, side)
