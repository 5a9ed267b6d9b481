"""Takes requests: one job for each `requestId`, however often and by whichever way it comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from pydantic import BaseModel, Field, ValidationError

from grading.grader.decisions import line_of, reason_of
from grading.grader.rows import (
    RequestRow,
    begin_answering,
    end_answering,
    note_served,
    read_request,
    read_requests,
    store_requests,
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
from holdfast import GiveUp, Holdfast, JobState, JobView, Pipeline, Submit
from holdfast.errors import UnavailableError, UnknownJob, WrongState
from holdfast.messaging import DecidedFailure, Message, Received
from holdfast.transactions import Transaction

LOGGER: Final = logging.getLogger("grading.intake")
BY: Final = "grading.request"
"""Who has a failed request graded again, in its history."""
INTAKE: Final = "intake"
"""The stage that dead-letter records name for what never became a job."""
TAKEN: Final = "the grader has taken the request"
SETTLES_S: Final = 5.0
"""How long an end that is being written is waited for at a time."""
_POLL_S: Final = 0.05
_SEVERAL: Final = 2
_ACTIVE: Final = (JobState.QUEUED, JobState.PROCESSING, JobState.WAITING)


class _Request(NamedTuple):
    """A request as it came, and read."""

    received: Received
    request: GradingRequest


class Intake:
    """The handles of `grading.request`; they are idempotent."""

    def __init__(
        self,
        app: Callable[[], Holdfast],
        pipelines: Mapping[Skill, Pipeline],
        *,
        late_grace_s: float,
        redact_dlq: bool,
        settles_s: float = SETTLES_S,
    ) -> None:
        self._app = app
        self._pipelines = dict(pipelines)
        self._late_grace_s = late_grace_s
        self._redact_dlq = redact_dlq
        self._settles_s = settles_s

    def handle(self, received: Received) -> None:
        """Take a request. One that cannot be read goes to the dead-letter queue at once."""
        self.handle_many([received])

    def handle_many(self, received: Sequence[Received]) -> None:
        """Take requests; those that are new are taken in one commit."""
        read = [each for each in map(self._read, received) if each is not None]
        new = self._new(read)
        if new:
            self._take_together(new)
        taken = {each.received.id for each in new}
        for each in read:
            if each.received.id in taken:
                continue
            row, is_new = self._take(each)
            if not is_new:
                self._see_to(each.received, each.request, row)

    def _new(self, read: Sequence[_Request]) -> list[_Request]:
        """Return those of several requests that nobody has taken, the first one of each."""
        firsts = {str(each.request.requestId): each for each in reversed(read)}
        if len(firsts) < _SEVERAL:
            return []
        with self._app().reading() as db:
            known = read_requests(db, list(firsts))
        return [each for request_id, each in firsts.items() if request_id not in known]

    def _read(self, received: Received) -> _Request | None:
        """Return a request, or None for one that is refused."""
        try:
            request = read_message(received.payload)
        except DoesNotFit as error:
            self._refuse(received, FailureReason.INVALID_SCHEMA, str(error))
            return None
        now = from_us(self._app().clock.now())
        if now > request.deadlineAt + timedelta(seconds=self._late_grace_s):
            self._refuse(received, FailureReason.TIMEOUT, "it came after its deadline and grace")
            return None
        return _Request(received, request)

    def _take_together(self, new: Sequence[_Request]) -> None:
        """Make the jobs of requests that were not known when they were looked for; one commit.

        Raises `GiveUp` where one was taken meanwhile: they are handed over one by one then.
        """
        app = self._app()
        with app.transaction() as tx:
            for skill, pipeline in self._pipelines.items():
                mine = [each for each in new if each.request.skill is skill]
                if not mine:
                    continue
                made = app.submit_many(
                    pipeline, [self._submit(each) for each in mine], connection=tx.connection
                )
                jobs = [job.job_id for job in made if job.created and job.job_id is not None]
                if len(jobs) < len(mine):
                    raise GiveUp(FailureReason.INTERNAL, "a request was taken by another meanwhile")
                pairs = [(each.request, job_id) for each, job_id in zip(mine, jobs, strict=True)]
                kept = store_requests(tx, pairs, is_new=True)
                taken = [
                    self._taken(each.received, row, at=tx.now)
                    for each, row in zip(mine, kept, strict=True)
                ]
                app.publish_many(taken, connection=tx.connection)
        for each in new:
            self._log(each.received, each.request, created=True)

    def _submit(self, each: _Request) -> Submit:
        """Return the job that a request is to be."""
        received, request = each
        return Submit(
            received.payload,
            key=str(request.requestId),
            key_alone=True,
            owner=grader_owner(request.userId),
            deadline=request.deadlineAt + timedelta(seconds=self._late_grace_s),
            trace=received.trace,
        )

    def _take(self, taken: _Request) -> tuple[RequestRow, bool]:
        """Make the job of a request, or note the newest right to answer it; one commit.

        Return the request, and whether the job is new.
        """
        app = self._app()
        received, request = taken
        pipeline = self._pipelines[request.skill]
        is_served = self._runs(str(request.requestId))
        with app.transaction() as tx:
            submit = self._submit(taken)
            handle = app.submit(pipeline, **submit._asdict(), connection=tx.connection)
            [row] = store_requests(
                tx, [(request, handle.id)], is_new=handle.created, is_served=is_served
            )
            if not row.answering:
                app.publish_many([self._taken(received, row, at=tx.now)], connection=tx.connection)
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

    def _taken(self, received: Received, row: RequestRow, *, at: datetime) -> Message:
        """Return the notice that a request is taken."""
        event = event_id(received.id, "queued")
        callback = progress_callback(
            row.addressee, event=event, step=Step.QUEUED, progress=0.0, message=TAKEN, at=at
        )
        return Message(CALLBACK, callback, row.submission_id, event)

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
        elif job.state is JobState.FAILED and row.callback_token != row.answered_token:
            if request.attempt > row.served_attempt:
                self._retry_failed(request, row)
            else:
                self._publish_failure(received, row, job)

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

    def _publish_failure(self, received: Received, row: RequestRow, job: JobView) -> None:
        """Publish why there is no result for a right to answer that came after that was sent."""
        error = job.error or {}
        failure = DecidedFailure(
            str(error.get("error_class", "")),
            str(error.get("message", "")),
            bool(error.get("retryable")),
            error.get("http_status"),
            None,
        )
        event = event_id(received.id, "error", token_mark(row.callback_token))
        with self._app().transaction() as tx:
            begin_answering(tx, row.request_id)
            callback = error_callback(
                row.addressee,
                event=event,
                reason=reason_of("failed", failure),
                message=line_of("failed", failure, stage=job.job.stage),
                attempts_made=job.job.attempt,
                at=tx.now,
                kind=failure.error_class,
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
        """Return the job of a request; an end that goes to an earlier right is waited for.

        It is written, or never will be, once the job has moved on. Raises `UnavailableError` when
        that takes long, so that the message comes again: nobody else would see to this right.
        """
        app, until_s = self._app(), time.monotonic() + self._settles_s
        job = app.job(row.job_id)
        ends = row.answering and row.answered_token != row.callback_token
        seen = job.job.revision
        while ends and job.state in _ACTIVE and job.job.revision == seen:
            if time.monotonic() > until_s:
                raise UnavailableError(f"the end of request {row.request_id} is being written")
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
