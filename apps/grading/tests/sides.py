"""Main and grader on databases of tests, run step by step in the calling thread."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from grading.calls import RawAnswer
from grading.config import GradingConfig
from grading.grader.side import GraderSide
from grading.grader.tools import TextTools, Tools
from grading.llm import AnswerRefused, AssessTask, MalformedAnswer
from grading.main.side import MainSide
from grading.main.submissions import Made, Submissions, Wanted
from grading.main.views.view import SubmissionView
from grading.messages.contract import CALLBACK, REQUEST
from grading.result import Result
from grading.scoring.evidence import Evidence
from holdfast import Holdfast
from holdfast.messaging import OutboxFilter, Received
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


class ScriptedAssessor:
    """An assessor that answers by a script, and counts what it was called with."""

    name = "scripted"

    def __init__(self) -> None:
        self.calls: list[tuple[AssessTask, str]] = []
        self.script: list[Exception | str] = []
        """What the next calls raise or answer; evidence once it is empty."""

    def assess(
        self, task: AssessTask, *, token: str, timeout_s: float, headers: Mapping[str, str]
    ) -> RawAnswer:
        del timeout_s, headers
        self.calls.append((task, token))
        said = self.script.pop(0) if self.script else EVIDENCE
        if isinstance(said, Exception):
            raise said
        usage = {"inputTokens": 100, "outputTokens": 10, "usd": 0.01}
        return RawAnswer(said, self.name, usage)

    @property
    def tokens(self) -> list[str]:
        return [token for _, token in self.calls]


class Unavailable(Exception):
    """What an SDK raises for a status."""

    def __init__(self, status_code: int, *, retry_after: str | None = None) -> None:
        super().__init__(f"HTTP {status_code}")
        self.status_code = status_code
        self.response = Answered(status_code, {"retry-after": retry_after} if retry_after else {})


class Answered:
    def __init__(self, status_code: int, headers: dict[str, str]) -> None:
        self.status_code, self.headers = status_code, headers


REFUSED = "refused"
EVIDENCE = json.dumps({"levels": [{"criterion": "grammar", "level": 3}]})


def read_evidence(raw: RawAnswer) -> Evidence:
    """Read evidence as the real grader does, without its care."""
    if raw.body == REFUSED:
        raise AnswerRefused("it would not")
    try:
        return Evidence.model_validate_json(raw.body)
    except ValidationError as error:
        raise MalformedAnswer("it is not evidence") from error


def score_scripted(evidences: Any, **given: Any) -> Result:
    """Return a result that says what it was computed from."""
    return Result.model_validate(
        RESULT
        | {
            "grader": given["grader"],
            "gradedAt": given["graded_at"],
            "cost": given["cost"],
            "details": {"evidences": len(evidences)},
        }
    )


def scripted_tools(assessor: Any = None, **given: Any) -> Tools:
    text = TextTools(
        assessor=assessor or ScriptedAssessor(),
        evidence_of=read_evidence,
        score_writing=score_scripted,
        score_speaking=score_scripted,
        **given,
    )
    return Tools(text=text)


class Pair:
    """Both sides on one database; `carry` is their broker, in the calling thread."""

    def __init__(self, app: Holdfast, main: MainSide, grader: GraderSide) -> None:
        self.app = app
        self.main = Main(app, main)
        self.grader = grader
        self.records: list[dict[str, Any]] = []
        """What was published for the dead-letter queue."""
        self.callbacks: list[dict[str, Any]] = []
        self.lost: set[str] = set()
        """Types of messages that the broker loses."""
        self._carried: set[str] = set()

    def carry(self) -> int:
        """Hand over every message that was not yet, in order, and return how many."""
        found = self.app.outbox.find(OutboxFilter(), limit=500)
        new = sorted(
            (each for each in found if each.id not in self._carried),
            key=lambda each: each.position,
        )
        for each in new:
            self._carried.add(each.id)
            if each.message_type not in self.lost:
                self._hand_over(each.message_type, json.loads(each.payload), each.id)
        return len(new)

    def _hand_over(self, message_type: str, payload: dict[str, Any], message_id: str) -> None:
        if message_type == REQUEST:
            self.grader.intake.handle(message(REQUEST, payload, message_id=message_id))
        elif message_type == CALLBACK:
            self.callbacks.append(payload)
            self.main.side.handle_callback(message(CALLBACK, payload, message_id=message_id))
        else:
            self.records.append(payload)

    def run(self, *, for_s: float = 0.0, step_s: float = 1.0) -> None:
        """Run and carry until nothing is left to do, now and as time passes."""
        self._settle()
        while for_s > 0:
            self.app.clock.advance(step_s)  # type: ignore[attr-defined]
            for_s -= step_s
            self._settle()

    def _settle(self) -> None:
        for _ in range(50):
            ran = run_inline(self.app)
            if not self.carry() and not ran:
                return
        raise AssertionError("it never comes to rest")

    def view(self, submission_id: str) -> SubmissionView:
        return self.main.submissions.get(submission_id, owner=None)

    def steps(self) -> list[str]:
        """Return what graders said, in order."""
        return [
            each["progress"]["step"]
            if each["status"] == "progress"
            else each["error"]["code"]
            if each["status"] == "error"
            else each["status"]
            for each in self.callbacks
        ]


@contextmanager
def made_pair(url: str, tools: Tools, **given: Any) -> Iterator[Pair]:
    """Open both sides on a database; `clock` is for the application, the rest are settings."""
    options = {name: given.pop(name) for name in ("clock",) if name in given}
    config = GradingConfig(**given)
    main, grader = MainSide(config), GraderSide(config, tools)
    pipelines = [main.pipeline, *grader.pipelines]
    with Holdfast(url, pipelines=pipelines, tables=TABLES, **options) as app:
        main.bind(app)
        grader.bind(app)
        yield Pair(app, main, grader)
