"""The pipeline `submission`: one stage that publishes the request and waits for the callback."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from grading.main.recordings import Recordings
from grading.main.views.derive import error_class_of, line_of
from grading.main.views.view import time_text
from grading.messages.contract import REQUEST, SCHEMA_VERSION, SECRET_NAMES
from grading.messages.owners import user_id_of
from grading.questions import Question, Questions
from grading.states import FailureReason, Skill
from holdfast import GiveUp, JobContext, Pipeline, Retry, Wait
from holdfast.classify import PublicCode, PublicCodes

SUBMISSION: Final = "submission"
REQUEST_STAGE: Final = "request"
_RETRY: Final = Retry(attempts=10, base=0.5, cap=30.0)
"""Of a stage that only writes to the database: it fails when its worker is lost."""


def submission_pipeline(
    *,
    questions: Callable[[], Questions],
    recordings: Callable[[], Recordings],
    late_grace_s: float,
) -> Pipeline:
    """Return the pipeline of submissions; the functions are called when a stage runs."""
    pipeline = Pipeline(
        SUBMISSION,
        retry=_RETRY,
        submit_by="system",
        submit_at="/api/submissions",
        retry_by="operator",
        secret_names=SECRET_NAMES,
        public_codes=_codes(),
    )

    @pipeline.stage(name=REQUEST_STAGE)
    def request(job: JobContext) -> Wait:
        """Publish the request; the stage ends with the callback."""
        payload = job.payload
        question = questions().get(payload["questionId"])
        if question is None:
            raise GiveUp(FailureReason.INTERNAL, "the question is not there any more")
        deadline_at = job.deadline or job.created_at
        answer = payload["answer"]
        if "audioId" in answer:
            expires_at = deadline_at + timedelta(seconds=late_grace_s)
            url = recordings().signed(answer["audioId"], expires_at=expires_at)
            answer = answer | {"audioUrl": url}
        message = _message(job, question, answer=answer, deadline_at=deadline_at)
        job.publish(REQUEST, message, aggregate_id=job.id)
        return Wait()

    return pipeline


def _codes() -> PublicCodes:
    return PublicCodes(
        {reason.value: PublicCode(message=line_of(reason)) for reason in FailureReason},
        mapping={error_class_of(reason): reason.value for reason in FailureReason},
        default=FailureReason.INTERNAL.value,
    )


def _message(
    job: JobContext, question: Question, *, answer: dict[str, Any], deadline_at: datetime
) -> dict[str, Any]:
    trace = job.trace
    return {
        "schemaVersion": SCHEMA_VERSION,
        "requestId": job.payload["requestId"],
        "submissionId": job.id,
        "userId": user_id_of(job.owner),
        "skill": question.skill.value,
        "attempt": job.retries + 1,
        "createdAt": time_text(job.created_at),
        "deadlineAt": time_text(deadline_at),
        "payload": _payload(question, answer),
        "callbackToken": job.callback_token(),
        "metadata": {"traceId": _trace_id(trace), "timestamp": time_text(job.created_at)},
    }


def _payload(question: Question, answer: dict[str, Any]) -> dict[str, Any]:
    common = {
        "questionId": question.id,
        "prompt": question.prompt,
        "requirements": list(question.requirements),
        "keywords": list(question.keywords),
        "minimumWords": question.minimum_words,
    }
    if question.skill is Skill.WRITING:
        return {"text": answer["text"], "taskNumber": question.number, **common}
    return {
        "audioUrl": answer["audioUrl"],
        "audioSha256": answer["audioSha256"],
        "durationSeconds": answer["durationSeconds"],
        "partNumber": question.number,
        **common,
    }


def _trace_id(trace: str | None) -> str | None:
    """Return the id of a trace from its context: version, id, parent and flags, with dashes."""
    parts = (trace or "").split("-")
    return parts[1] if len(parts) > 1 else None
