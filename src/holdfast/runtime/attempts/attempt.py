"""One run of one stage under one lease, and what its handler sees of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from holdfast.core.job import deadline
from holdfast.core.job.event import Event
from holdfast.core.job.job import Job
from holdfast.core.job.lease import Lease, lease_of
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values import trace_context
from holdfast.core.values.callback import Claim, sign
from holdfast.core.values.document import decode
from holdfast.core.values.failure import PAYLOAD_INVALID, RESULT_INVALID, Failure
from holdfast.core.values.instant import SECOND_US, later, to_datetime
from holdfast.core.values.outbox import NewMessage, new_message
from holdfast.errors import GiveUp, InvalidDocument, InvalidValue, UsageError
from holdfast.runtime import tracing
from holdfast.runtime.attempts.job_secrets import NO_SECRETS, JobSecrets
from holdfast.runtime.breakers.watch import Permit, Ticket, Watch
from holdfast.runtime.kernel.clock import Clock, monotonic_s
from holdfast.runtime.kernel.stage import BoundStage
from holdfast.store.tables.outbox import message_id

LOGGER: Final = logging.getLogger("holdfast.job")
MAX_MESSAGES: Final = 1_000
"""How many messages one attempt may publish."""
LONGEST_WAIT_S: Final = 10 * 365 * 86_400
_WAIT_LIMIT: Final = "over 0 and up to ten years"
_STATUSES: Final = range(100, 600)


class Fate(StrEnum):
    """Why an attempt was stopped from outside."""

    TIMED_OUT = "timed out"
    LOST = "lost"
    """The lease is no longer this worker's: whatever the handler does now counts for nothing."""
    SHUT_DOWN = "shut down"
    HELD = "held"
    """Its upstream lets nothing through, so that the handler was not called."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Returned by a handler whose stage is done only with an answer.

    The answer comes by `Holdfast.answer`; after `timeout` seconds the attempt has failed.
    """

    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout <= LONGEST_WAIT_S:
            raise InvalidValue("Wait", field="timeout", value=self.timeout, limit=_WAIT_LIMIT)


class Attempt:
    """What a lane runs: the job as it was claimed, its stage's handler, and how it was ended."""

    __slots__ = (
        "bound",
        "callback_key",
        "checkpoints",
        "ended",
        "ends_at_s",
        "ends_with_job",
        "fate",
        "handle",
        "http_status",
        "job",
        "messages",
        "permit",
        "place",
        "plan",
        "refusal",
        "secrets",
        "stage",
        "ticket",
        "watch",
    )

    def __init__(
        self,
        job: Job,
        *,
        plan: Plan,
        bound: BoundStage,
        checkpoints: Mapping[str, str],
        watch: Watch | None = None,
        permit: Permit | None = None,
        callback_key: Callable[[], bytes] | None = None,
        secrets: JobSecrets = NO_SECRETS,
    ) -> None:
        stage = plan.stage(job.stage)
        if stage is None:
            raise AssertionError(f"plan {plan.digest} has no stage {job.stage!r}")
        self.job = job
        self.plan = plan
        self.stage: StagePlan = stage
        self.bound = bound
        self.checkpoints = checkpoints
        self.fate: Fate | None = None
        self.ends_at_s: float | None = None
        self.ends_with_job = False
        """Whether it is the job's deadline, and no timeout of the stage, that ends the attempt."""
        self.handle: Any = None
        """By which a lane stops the handler, once it runs."""
        self.ended = False
        """Set by the lane when it reports the attempt, which it does once."""
        self.callback_key = callback_key
        self.secrets = secrets
        self.watch = watch
        self.permit = permit
        """By which it may try an upstream whose breaker is half open."""
        self.ticket: Ticket | None = None
        """By which its outcome becomes evidence about the upstream it called."""
        self.refusal: Event | None = None
        """What became of it instead, when its upstream let nothing through."""
        self.place: Place | None = None
        """What it takes up where it runs, on a lane that can do without it for a while."""
        self.messages: list[NewMessage] | None = None
        """What the handler published so far, once it has."""
        self.http_status: int | None = None
        """What the upstream answered, as the handler noted it."""

    @property
    def lease(self) -> Lease:
        """The lease under which it runs."""
        return lease_of(self.job)

    def begin(self, clock: Clock) -> None:
        """Start the attempt's own time, unless its upstream lets nothing through."""
        timed = self.stage.timeout_us is not None or self.job.deadline_at is not None
        if self.watch is None and not timed:
            return
        now = clock.now()
        if self.watch is not None:
            entered = self.watch.enter(self.job.attempt, self.permit, now)
            if not isinstance(entered, Ticket):
                self.refusal = entered
                self.fate = self.fate or Fate.HELD
                return
            self.ticket = entered
        if not timed:
            return
        ends_at = deadline.attempt_ends_at(self.job, timeout_us=self.stage.timeout_us, now=now)
        if ends_at is not None:
            self.ends_with_job = ends_at == self.job.deadline_at
            # Right after it: what is done at the very end is in time.
            self.ends_at_s = monotonic_s() + (ends_at + 1 - now) / SECOND_US


class Place(Protocol):
    """What attempts take up on a lane."""

    def leave(self, attempt: Attempt) -> bool:
        """Let another begin in place of this one; False when too many are aside already."""

    def take(self, attempt: Attempt) -> None:
        """Count it as running again, also beyond the limit."""


Report = Callable[[Attempt, Any, BaseException | None], None]
"""How a lane says that an attempt ended: the value the handler returned, or what it raised."""

ReportLate = Callable[[Attempt, Any], None]
"""How a lane hands over what a handler returned after its attempt was given up."""


class JobContext:
    """The job as its handler sees it."""

    __slots__ = ("_attempt", "_payload", "_results")

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._payload: Any = _UNREAD
        self._results: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return self._attempt.job.id

    @property
    def pipeline(self) -> str:
        """The pipeline's name."""
        return self._attempt.job.pipeline

    @property
    def stage(self) -> str:
        """The stage's name."""
        return self._attempt.job.stage

    @property
    def attempt(self) -> int:
        """Which attempt of this stage this is; the first is 1."""
        return self._attempt.job.attempt

    @property
    def last_attempt(self) -> bool:
        """Whether the stage's budget ends with this attempt."""
        return self._attempt.job.attempt >= self._attempt.stage.retry.attempts

    @property
    def retries(self) -> int:
        """How often the job was sent back by hand after it had failed."""
        return self._attempt.job.retries

    @property
    def key(self) -> str | None:
        """The idempotency key under which the job was submitted."""
        return self._attempt.job.key

    @property
    def owner(self) -> str:
        """Whose job it is."""
        return self._attempt.job.owner

    @property
    def version(self) -> int:
        """The version the job was submitted with."""
        return self._attempt.job.version

    @property
    def trace(self) -> str | None:
        """The trace context the job was submitted with."""
        return self._attempt.job.trace

    @property
    def trace_headers(self) -> dict[str, str]:
        """The headers by which a call of the handler carries the trace on; empty without one."""
        found = tracing.headers()
        if found:
            return found
        context = trace_context.read(self._attempt.job.trace)
        return {} if context is None else context.headers()

    @property
    def created_at(self) -> datetime:
        """When the job was submitted."""
        return to_datetime(self._attempt.job.created_at)

    @property
    def deadline(self) -> datetime | None:
        """When the whole job must have ended."""
        instant = self._attempt.job.deadline_at
        return None if instant is None else to_datetime(instant)

    @property
    def payload(self) -> Any:  # noqa: ANN401 - whatever JSON the submitter gave
        """The payload as submitted."""
        if self._payload is _UNREAD:
            self._payload = _read(self._attempt.job.payload, PAYLOAD_INVALID)
        return self._payload

    @property
    def results(self) -> Mapping[str, Any]:
        """What the earlier stages returned, by stage name."""
        if self._results is None:
            self._results = {
                stage: _read(text, RESULT_INVALID)
                for stage, text in self._attempt.checkpoints.items()
            }
        return self._results

    @property
    def time_left(self) -> float | None:
        """Seconds until this attempt is stopped, or None when nothing stops it."""
        ends_at_s = self._attempt.ends_at_s
        return None if ends_at_s is None else max(ends_at_s - monotonic_s(), 0.0)

    @property
    def cancelled(self) -> bool:
        """Whether the attempt was stopped; a long loop in a plain function should look."""
        return self._attempt.fate is not None

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose lines name the job, the stage and the attempt."""
        job = self._attempt.job
        facts = {
            "job_id": job.id,
            "pipeline": job.pipeline,
            "stage": job.stage,
            "attempt": job.attempt,
        }
        return logging.LoggerAdapter(LOGGER, facts)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let another attempt of the worker begin in place of this one, as long as the block lasts.

        For what follows the work itself, such as keeping its result. It matters to `async def`
        handlers alone, and no more attempts are aside than may run at a time.
        """
        place = self._attempt.place
        if place is None or not place.leave(self._attempt):
            yield
            return
        try:
            yield
        finally:
            place.take(self._attempt)

    def callback_token(self, *, valid_for: float | None = None) -> str:
        """Return the token by which `Holdfast.resume` takes the answer to this stage.

        Give it to the one who answers: it serves for this stage of this job and nothing else, until
        the stage is over, or `valid_for` seconds from the beginning of the attempt.
        """
        attempt = self._attempt
        if attempt.callback_key is None:
            raise UsageError("callback tokens are made where a worker runs the stage")
        if valid_for is not None and not 0 < valid_for <= LONGEST_WAIT_S:
            raise InvalidValue(
                "callback_token", field="valid_for", value=valid_for, limit=_WAIT_LIMIT
            )
        job = attempt.job
        began_at = job.attempt_at or job.created_at
        expires_at = None if valid_for is None else later(began_at, int(valid_for * SECOND_US))
        return sign(Claim(job.id, job.run, job.stage, expires_at), key=attempt.callback_key())

    def secret(self, name: str, *, fresh: bool = False) -> str:
        """Return the value of a secret that is in force now; it is hidden everywhere from then on.

        `fresh` has it asked for anew, for when an upstream refused the value. It may wait for the
        network: in an `async def` handler call it with `asyncio.to_thread`.
        """
        return self._attempt.secrets.get(self._attempt.job.pipeline, name, fresh=fresh)

    def answered(self, http_status: int) -> None:
        """Note what the upstream answered: the history of an attempt that succeeds has it.

        Of one that fails the failure says it.
        """
        if type(http_status) is not int or http_status not in _STATUSES:
            limit = "a status of HTTP, from 100 to 599"
            raise InvalidValue("answered", field="http_status", value=http_status, limit=limit)
        self._attempt.http_status = http_status

    def publish(
        self,
        message_type: str,
        payload: object = None,
        *,
        aggregate_id: str | None = None,
    ) -> str:
        """Have a message published if and only if this attempt's result is kept; return its id.

        It is stored in the commit that ends the stage, also when the stage then waits for an
        answer. Messages of one aggregate, which is the job unless another is given, go out in the
        order in which they were published.
        """
        attempt = self._attempt
        job = attempt.job
        if attempt.messages is None:
            attempt.messages = []
        number = len(attempt.messages) + 1
        if number > MAX_MESSAGES:
            raise InvalidValue(
                "publish",
                field="messages",
                value=number,
                limit=f"at most {MAX_MESSAGES} in one attempt",
            )
        message = new_message(
            message_id(job.id, job.token, number),
            message_type=message_type,
            payload=payload,
            aggregate_id=job.id if aggregate_id is None else aggregate_id,
            trace=tracing.current() or job.trace,
        )
        attempt.messages.append(message)
        return message.id

    @property
    def idempotency_token(self) -> str:
        """The same text for every attempt of this stage: send it where an upstream dedupes."""
        job = self._attempt.job
        return f"{job.id}:{job.run}:{job.stage}"


def attempt_of(job: JobContext) -> Attempt:
    """Return the attempt that a handler sees as a job."""
    return job._attempt  # noqa: SLF001 - for what runs handlers, and no handler


_UNREAD: Final = object()


def _read(text: str, failure: Failure) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return what was stored; when something else wrote there, no attempt can succeed."""
    try:
        return decode(text)
    except InvalidDocument as error:
        raise GiveUp(failure.error_class, f"it cannot be read any more: {error}") from error
