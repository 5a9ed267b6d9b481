"""Takes requests: one job for each `requestId`, however often and by whichever way it comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, Field, ValidationError

from grading.grader.rows import (
    RequestRow,
    end_answering,
    note_served,
    read_request,
    store_request,
)
from grading.messages.contract import CALLBACK, DLQ, GradingRequest, Name
from grading.messages.outgoing import (
    Addressee,
    completed_callback,
    dlq_record,
    error_callback,
    event_id,
    progress_callback,
    token_mark,
)
from grading.messages.owners import grader_owner
from grading.messages.validation import DoesNotFit
from grading.messages.validation import read_request as read_message
from grading.states import FailureReason, Skill, Step
from grading.tables.times import from_us
from holdfast import Holdfast, JobState, JobView, Pipeline, Received, Transaction
from holdfast.errors import UnknownJob, WrongState

LOGGER: Final = logging.getLogger("grading.intake")
BY: Final = "grading.request"
"""Who has a failed request graded again, in its history."""
INTAKE: Final = "intake"
"""The stage that dead-letter records name for what never became a job."""
TAKEN: Final = "the grader has taken the request"
_SETTLES_S: Final = 5.0
"""An end is written within this time; else the run goes on, and serves the newest attempt."""
_POLL_S: Final = 0.05
_ACTIVE: Final = (JobState.QUEUED, JobState.PROCESSING, JobState.WAITING)


class Intake:
    """The handle of `grading.request`; it is idempotent."""

    def __init__(
        self,
        app: Callable[[], Holdfast],
        pipelines: Mapping[Skill, Pipeline],
        *,
        late_grace_s: float,
        redact_dlq: bool,
    ) -> None:
        self._app = app
        self._pipelines = dict(pipelines)
        self._late_grace_s = late_grace_s
        self._redact_dlq = redact_dlq

    def handle(self, received: Received) -> None:
        """Take a request. One that cannot be read goes to the dead-letter queue at once."""
        try:
            request = read_message(received.payload)
        except DoesNotFit as error:
            self._refuse(received, FailureReason.INVALID_SCHEMA, str(error))
            return
        now = from_us(self._app().clock.now())
        if now > request.deadlineAt + timedelta(seconds=self._late_grace_s):
            self._refuse(received, FailureReason.TIMEOUT, "it came after its deadline and grace")
            return
        row, is_new = self._take(received, request)
        if not is_new:
            self._see_to(received, request, row)

    def _take(self, received: Received, request: GradingRequest) -> tuple[RequestRow, bool]:
        """Make the job of a request, or note the newest right to answer it; one commit.

        Return the request, and whether the job is new.
        """
        app = self._app()
        pipeline = self._pipelines[request.skill]
        deadline = request.deadlineAt + timedelta(seconds=self._late_grace_s)
        is_served = self._runs(str(request.requestId))
        with app.transaction() as tx:
            handle = app.submit(
                pipeline,
                received.payload,
                key=str(request.requestId),
                key_alone=True,
                owner=grader_owner(request.userId),
                deadline=deadline,
                trace=received.trace,
                connection=tx.connection,
            )
            row = store_request(
                tx, request, job_id=handle.id, is_new=handle.created, is_served=is_served
            )
            if not row.answering:
                self._publish_taken(tx, received, row)
        self._log(received, request, created=handle.created)
        return row, handle.created

    def _runs(self, request_id: str) -> bool:
        """Return whether a request was taken before and its job has not ended."""
        with self._app().reading() as db:
            known = read_request(db, request_id)
        if known is None:
            return False
        try:
            return self._app().job(known.job_id).state in _ACTIVE
        except UnknownJob:
            return False

    def _publish_taken(self, tx: Transaction, received: Received, row: RequestRow) -> None:
        event = event_id(received.id, "queued")
        callback = progress_callback(
            row.addressee, event=event, step=Step.QUEUED, progress=0.0, message=TAKEN, at=tx.now
        )
        self._publish(tx, CALLBACK, callback, event=event, aggregate_id=row.submission_id)

    def _see_to(self, received: Received, request: GradingRequest, row: RequestRow) -> None:
        """Answer a request that was known by how its job has ended, or have it graded again."""
        try:
            job = self._settled(row)
        except UnknownJob:
            self._refuse(received, FailureReason.INTERNAL, "it was graded and removed before")
            return
        if job.state is JobState.CANCELLED:
            self._refuse(received, FailureReason.CANCELLED, "the grader's job was cancelled")
        elif job.state is JobState.COMPLETE and row.answering:
            self._publish_result(received, row)
        elif job.state is JobState.FAILED and request.attempt > row.served_attempt:
            self._retry_failed(request, row)

    def _publish_result(self, received: Received, row: RequestRow) -> None:
        """Publish the stored result for a right to answer that came after the result was sent."""
        result = self._app().results(row.job_id)["score"]
        event = event_id(received.id, "completed", token_mark(row.callback_token))
        with self._app().transaction() as tx:
            callback = completed_callback(
                row.addressee,
                event=event,
                result=result["result"],
                attempts_made=result["attemptsMade"],
                at=tx.now,
            )
            self._publish(tx, CALLBACK, callback, event=event, aggregate_id=row.submission_id)

    def _retry_failed(self, request: GradingRequest, row: RequestRow) -> None:
        """Have a request graded again that has failed, as a later attempt of main wants it.

        The attempt is noted last: after a crash the message comes again and finds it to be done.
        """
        app = self._app()
        with app.transaction() as tx:
            end_answering(tx, row.request_id)
        try:
            app.retry(row.job_id, by=BY, reason=f"attempt {request.attempt}")
        except WrongState:
            LOGGER.info("request %s runs again already", request.requestId)
        with app.transaction() as tx:
            note_served(tx, row.request_id, attempt=request.attempt)

    def _settled(self, row: RequestRow) -> JobView:
        """Return the job of a request; one whose end is being written is waited for.

        That end goes to the right to answer that was there before this one.
        """
        app, until_s = self._app(), time.monotonic() + _SETTLES_S
        job = app.job(row.job_id)
        while row.answering and job.state in _ACTIVE and time.monotonic() < until_s:
            time.sleep(_POLL_S)
            job = app.job(row.job_id)
        return job

    def _refuse(self, received: Received, reason: FailureReason, why: str) -> None:
        """Publish the record of a request that is not taken, and tell main where that is known."""
        app = self._app()
        payload = received.payload
        event = event_id(received.id, "refused")
        with app.transaction() as tx:
            record = dlq_record(
                original=payload if received.unreadable is None else received.unreadable,
                reason=reason,
                attempts_made=0,
                last_error=why,
                at=tx.now,
                stage=INTAKE,
                redact=self._redact_dlq,
            )
            self._publish(tx, DLQ, record, event=event_id(received.id, "dlq"), aggregate_id=None)
            to = _addressee_in(payload)
            if to is not None and reason is not FailureReason.TIMEOUT:
                callback = error_callback(
                    to, event=event, reason=reason, message=why, attempts_made=0, at=tx.now
                )
                self._publish(tx, CALLBACK, callback, event=event, aggregate_id=to.submission_id)
        LOGGER.warning(
            "request %s is refused: %s",
            received.id,
            why,
            extra={"event": "request_refused", "message_id": received.id, "reason": reason.value},
        )

    def _publish(
        self,
        tx: Transaction,
        message_type: str,
        payload: dict[str, Any],
        *,
        event: str,
        aggregate_id: str | None,
    ) -> None:
        self._app().publish(
            message_type,
            payload,
            aggregate_id=aggregate_id,
            message_id=event,
            connection=tx.connection,
        )

    def _log(self, received: Received, request: GradingRequest, *, created: bool) -> None:
        LOGGER.info(
            "request %s is %s",
            request.requestId,
            "taken" if created else "known",
            extra={
                "event": "request_taken" if created else "duplicate",
                "message_id": received.id,
                "submission_id": request.submissionId,
            },
        )


def _addressee_in(payload: object) -> Addressee | None:
    """Return whom to answer, of a message that does not fit but says that much."""
    try:
        return Addressee.of(_Sender.model_validate(payload))
    except ValidationError:
        return None


class _Sender(BaseModel):
    """The part of a request by which it can be answered."""

    requestId: UUID  # noqa: N815 - as it is on the wire
    submissionId: Name  # noqa: N815 - as above
    callbackToken: Annotated[str, Field(min_length=1, max_length=2_000)]  # noqa: N815 - as above
    metadata: dict[str, Any] = Field(default_factory=dict)
