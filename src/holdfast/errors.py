"""Every error holdfast raises, and the two that handlers raise.

    HoldfastError
    ├── UsageError              change your code or your input
    │   ├── InvalidValue        an argument outside its limits
    │   │   ├── InvalidPolicy   a retry, lease or deadline policy that makes no sense
    │   │   └── InvalidSetting  an environment variable or setting that cannot be read
    │   ├── InvalidDocument     a payload or result that is not acceptable JSON
    │   ├── UnknownPipeline     this process has no pipeline of that name
    │   ├── PipelineClosed      the pipeline takes jobs from its own system only
    │   ├── PipelineNeeded      a decision takes the code of a pipeline that is not here
    │   ├── UnknownJob          the store has no job of that id
    │   ├── UnknownLetter       the store has no dead letter of that id
    │   ├── UnknownMessage      the outbox has no message of that id
    │   ├── TopologyMismatch    the broker has a queue or exchange that is made otherwise
    │   ├── HandlerStuck        a consumer's handler did not end in its time
    │   ├── UnknownReplay       the store has no replay of that id
    │   ├── UnknownUpstream     no stage calls an upstream of that name
    │   ├── UnknownProvider     this process has no provider of that name
    │   ├── UnknownDelivery     the store has no delivery of that id
    │   ├── UnknownWorker       no worker of that id is on record
    │   ├── UnknownToken        the store has no API token of that id
    │   ├── TokenRefused        a callback token that is forged or no longer good
    │   ├── SchemaTooNew        the database was migrated by a newer holdfast
    │   ├── SchemaTooOld        the database has yet to be migrated
    │   ├── SchemaMissing       the database has none of holdfast's tables
    │   ├── StatementRefused    the database cannot run a statement of a transaction
    │   └── ForkedProcess       a store was carried across a fork
    ├── ConflictError           read again, then decide
    │   ├── StaleRevision       the job moved on after it was read
    │   ├── KeyConflict         the idempotency key belongs to a job with another body
    │   ├── VersionConflict     a rerun needs a strictly higher version
    │   ├── WrongState          the job's state does not allow what was asked
    │   ├── RetryRefused        its pipeline says that the job cannot succeed if it is retried
    │   ├── RetryNotAllowed     its pipeline has failed jobs sent back another way
    │   ├── StepMissing         something has to be done about the dead letter first
    │   ├── DeliveryMoved       the delivery does not allow what was asked of it
    │   ├── JobFailed           the job whose result was asked for has failed
    │   ├── JobCancelled        the job whose result was asked for was cancelled
    │   └── ConstraintViolated  a constraint of a system's table does not allow the rows
    └── UnavailableError        try later
        ├── QueueFull           as many jobs wait in the queue as may
        ├── StoreUnavailable    the database cannot be reached
        ├── StoreCorrupt        the database file is damaged
        ├── ReadTooSlow         what was asked for took the database too long to find
        ├── ResultTimeout       the job whose result was asked for has not ended yet
        └── CircuitOpen         a guard's breaker or rate let no call through

    HandlerSignal               raised by handlers, never by holdfast
    ├── GiveUp                  this attempt failed and no other can succeed
    │   └── UserError           the same, by a mistake of the job's sender
    └── RetryLater              not now; run the stage again after a while

Every class keeps its facts as attributes and builds its sentence from them.
All of them survive pickling and copying with their attributes, because handlers may run in other
processes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, Final, TypeVar

MAX_ERROR_CLASS_LENGTH: Final = 64
MAX_POSTPONE_S: Final = 365 * 24 * 3600.0

_ERROR_CLASS: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_SHOWN_VALUE_LENGTH: Final = 120

_Error = TypeVar("_Error", bound="_CarriesFacts")


def _shown(value: object) -> str:
    """Return the value as a message may show it: short or not at all, and never raising itself.

    Part of a long value could be part of a secret, which nobody can recognise any more.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value's own repr may raise anything
        return f"<{type(value).__name__} whose repr raises>"
    if len(text) <= _SHOWN_VALUE_LENGTH:
        return text
    return f"<{type(value).__name__} of {len(text)} characters>"


def _revived(kind: type[_Error], message: str, facts: dict[str, Any]) -> _Error:
    error = kind.__new__(kind, message)
    error.__dict__.update(facts)
    return error


def _is_number(value: object, *, at_most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= at_most


class _CarriesFacts(Exception):
    """An exception whose attributes survive pickling although its constructor takes keywords."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _revived, (type(self), str(self), dict(self.__dict__))


class HoldfastError(_CarriesFacts):
    """Anything holdfast itself raises; its three branches say whose move it is."""


class UsageError(HoldfastError):
    """The caller's code or input has to change."""


class InvalidValue(UsageError):
    """An argument lies outside its limits."""

    def __init__(self, owner: str, *, field: str, value: object, limit: str) -> None:
        self.owner, self.field, self.limit = owner, field, limit
        self.value = _shown(value)
        super().__init__(f"{owner}: {field} is {self.value}; it must be {limit}")


class InvalidPolicy(InvalidValue):
    """A policy makes no sense; nothing was stored."""


class InvalidSetting(InvalidValue):
    """A setting or environment variable cannot be read; `field` is its name."""


class InvalidDocument(UsageError):
    """A value is not acceptable as JSON; nothing was stored.

    `path` is a JSON pointer into the document, empty for the document itself.
    `position` says where in the text, when there was text.
    """

    def __init__(
        self, what: str, *, path: str, limit: str, found: str, position: str | None = None
    ) -> None:
        self.what, self.path, self.limit, self.found = what, path, limit, found
        self.position = position
        place = "".join((f" at {path}" if path else "", f" ({position})" if position else ""))
        super().__init__(f"{what}{place}: found {found}; it must be {limit}")


class UnknownPipeline(UsageError):
    """The process was given no pipeline of that name."""

    def __init__(self, pipeline: str, *, known: Collection[str]) -> None:
        self.pipeline, self.known = pipeline, tuple(sorted(known))
        names = ", ".join(self.known) or "none"
        super().__init__(
            f"no pipeline is called {_shown(pipeline)}; known: {names}; "
            "pass it to Holdfast(pipelines=[…])"
        )


class PipelineClosed(UsageError):
    """The pipeline takes jobs from its own system only; `submit_at` is where that takes them."""

    def __init__(self, pipeline: str, *, submit_at: str | None) -> None:
        self.pipeline, self.submit_at = pipeline, submit_at
        place = "by what its system offers for that" if submit_at is None else f"at {submit_at}"
        super().__init__(
            f"pipeline {_shown(pipeline)} takes jobs from its own system only, which checks what "
            f"comes in; submit it {place}"
        )


class PipelineNeeded(UsageError):
    """What is decided about a job takes the code of its pipeline, which is not here."""

    def __init__(self, pipeline: str, *, job_id: str) -> None:
        self.pipeline, self.job_id = pipeline, job_id
        super().__init__(
            f"job {job_id} is of pipeline {pipeline!r}, whose code says what is published with "
            "every decision and is not known to this process; do it where the pipeline runs, "
            "such as in its console"
        )


class UnknownJob(UsageError):
    """The store has no job of that id."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"no job has the id {_shown(job_id)}; check the id and the database URL")


class UnknownLetter(UsageError):
    """The store has no dead letter of that id."""

    def __init__(self, letter_id: str) -> None:
        self.letter_id = letter_id
        super().__init__(
            f"no dead letter has the id {_shown(letter_id)}; it has the id of its job, "
            "and only a job that failed for good has one"
        )


class UnknownMessage(UsageError):
    """The outbox has no message of that id."""

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        super().__init__(f"no message has the id {_shown(message_id)}; check the id")


class TopologyMismatch(UsageError):
    """The broker has a queue or an exchange of that name, made with another argument."""

    def __init__(self, kind: str, name: str, *, argument: str, reason: str) -> None:
        self.kind, self.name, self.argument, self.reason = kind, name, argument, reason
        super().__init__(
            f"the broker has the {kind} {_shown(name)}, but made otherwise: {argument} "
            f"differs ({reason}); declare it as it is, use another name, or delete it once it is "
            "empty"
        )


class HandlerStuck(UsageError):
    """A consumer's handler was not done with a message in the time it has."""

    def __init__(self, message_id: str, *, timeout_s: float) -> None:
        self.message_id, self.timeout_s = message_id, timeout_s
        super().__init__(
            f"the handler is not done with the message {_shown(message_id)} after {timeout_s:g} s, "
            "and its thread cannot be ended; limit what it waits for, or make a job of the message"
        )


class UnknownReplay(UsageError):
    """The store has no replay of that id."""

    def __init__(self, replay_id: str) -> None:
        self.replay_id = replay_id
        super().__init__(f"no replay has the id {_shown(replay_id)}; check the id")


class UnknownUpstream(UsageError):
    """No stage calls an upstream of that name, as far as the store and this process know."""

    def __init__(self, upstream: str, *, known: Collection[str]) -> None:
        self.upstream, self.known = upstream, tuple(sorted(known))
        names = ", ".join(self.known) or "none"
        super().__init__(f"no upstream is called {_shown(upstream)}; known: {names}")


class UnknownProvider(UsageError):
    """The process was given no provider of that name, or several and none was named."""

    def __init__(self, provider: str | None, *, known: Collection[str]) -> None:
        self.provider, self.known = provider, tuple(sorted(known))
        names = ", ".join(self.known) or "none"
        if provider is not None:
            problem = f"no provider is called {_shown(provider)}; known: {names}"
        else:
            problem = f"no provider is named; known: {names}"
        if provider is None and self.known:
            super().__init__(f"{problem}; say which of them")
        else:
            super().__init__(f"{problem}; pass it to Holdfast(providers=[…])")


class UnknownDelivery(UsageError):
    """The store has no delivery of that id."""

    def __init__(self, delivery_id: str) -> None:
        self.delivery_id = delivery_id
        super().__init__(f"no delivery has the id {_shown(delivery_id)}; check the id")


class UnknownWorker(UsageError):
    """No worker of that id is on record."""

    def __init__(self, worker_id: str) -> None:
        self.worker_id = worker_id
        super().__init__(f"no worker has the id {_shown(worker_id)}; check the id")


class UnknownToken(UsageError):
    """The store has no API token of that id."""

    def __init__(self, token_id: str) -> None:
        self.token_id = token_id
        super().__init__(f"no API token has the id {_shown(token_id)}; check the id")


class TokenRefused(UsageError):
    """A callback token that is forged, has expired, or belongs to a run that is over."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the callback token is refused: {reason}; nothing was changed")


class SchemaTooNew(UsageError):
    """The database was migrated by newer code than this.

    `system` names the system whose tables are newer; it is None where holdfast's own are.
    """

    def __init__(self, *, found: int, supported: int, system: str | None = None) -> None:
        self.found, self.supported, self.system = found, supported, system
        if system is None:
            text = (
                f"the database has schema {found}, this holdfast knows up to {supported}; "
                "upgrade holdfast here before it touches this database"
            )
        else:
            text = (
                f"the database has version {found} of the tables of system {system!r}, which is "
                f"known here up to {supported}; upgrade the system's package"
            )
        super().__init__(text)


class SchemaTooOld(UsageError):
    """The database has yet to be migrated to what this code needs; `system` as above."""

    def __init__(self, *, found: int, needed: int, system: str | None = None) -> None:
        self.found, self.needed, self.system = found, needed, system
        if system is None:
            text = f"the database has schema {found}, this holdfast needs {needed}"
        else:
            text = (
                f"the database has version {found} of the tables of system {system!r}, which "
                f"needs {needed}"
            )
        super().__init__(f"{text}; migrate the database first")


class SchemaMissing(UsageError):
    """The database has none of the tables; `location` is its URL without credentials."""

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(f"{location} has no holdfast schema; migrate the database first")


class StatementRefused(UsageError):
    """The database cannot run a statement of `Transaction`, as it is written."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the database refuses the statement: {reason}")


class ForkedProcess(UsageError):
    """An open store was carried into a child process."""

    def __init__(self, *, opened_in: int, used_in: int) -> None:
        self.opened_in, self.used_in = opened_in, used_in
        super().__init__(
            f"this store was opened in process {opened_in} and used in process {used_in}; "
            "open it after the fork, in the process that uses it"
        )


class ConflictError(HoldfastError):
    """Another changed what was read; read again, then decide."""


class StaleRevision(ConflictError):
    """The job moved on after it was read."""

    def __init__(self, job_id: str, *, expected: int, found: int | None) -> None:
        self.job_id, self.expected, self.found = job_id, expected, found
        state = "gone" if found is None else f"at revision {found}"
        super().__init__(f"job {job_id} is {state}, not at revision {expected}; read it again")


class KeyConflict(ConflictError):
    """The idempotency key belongs to an existing job with another body."""

    def __init__(self, key: str, *, job_id: str) -> None:
        self.key, self.job_id = key, job_id
        super().__init__(
            f"key {_shown(key)} already belongs to job {job_id}, which has another body; "
            "read that job, or submit under another key"
        )


class VersionConflict(ConflictError):
    """A rerun was asked for with a version that is not strictly higher."""

    def __init__(self, job_id: str, *, requested: int, found: int) -> None:
        self.job_id, self.requested, self.found = job_id, requested, found
        super().__init__(
            f"job {job_id} is at version {found}, a rerun asked for {requested}; "
            f"ask for {found + 1} or higher"
        )


class WrongState(ConflictError):
    """The job's state does not allow what was asked."""

    def __init__(self, job_id: str, *, state: str, action: str, allowed: Collection[str]) -> None:
        self.job_id, self.state, self.action = job_id, state, action
        self.allowed = tuple(allowed)
        super().__init__(
            f"cannot {action} job {job_id}: it is {state}, and only "
            f"{' or '.join(self.allowed)} jobs allow that; read it again"
        )


class RetryRefused(ConflictError):
    """The pipeline of a job says why it must not be sent back.

    `needs_pipeline` names the pipeline where its code would have to say so and is not here.
    """

    def __init__(self, job_id: str, *, reason: str, needs_pipeline: str | None = None) -> None:
        self.job_id, self.reason, self.needs_pipeline = job_id, reason, needs_pipeline
        super().__init__(f"job {job_id} cannot be retried: {reason}")


class RetryNotAllowed(ConflictError):
    """The pipeline's failed jobs are sent back another way: by operators, or as dead letters.

    `retry_by` names it, and `how` says whose move it is; `job_id` is None where many were meant.
    """

    def __init__(
        self, pipeline: str, *, retry_by: str, reason: str, how: str, job_id: str | None = None
    ) -> None:
        self.pipeline, self.retry_by, self.job_id = pipeline, retry_by, job_id
        self.reason, self.how = reason, how
        subject = "these jobs" if job_id is None else f"job {job_id}"
        super().__init__(f"{subject} cannot be retried this way: {reason}; {how}")


class StepMissing(ConflictError):
    """What was asked of a dead letter is not next; `missing` names the step that is."""

    def __init__(self, letter_id: str, *, action: str, state: str, missing: str, how: str) -> None:
        self.letter_id, self.action, self.state = letter_id, action, state
        self.missing, self.how = missing, how
        super().__init__(f"cannot {action} dead letter {letter_id}, which is {state}: {how}")


class DeliveryMoved(ConflictError):
    """What was asked of a delivery does not fit how it stands; `why` says what does."""

    def __init__(self, delivery_id: str, *, action: str, state: str, why: str) -> None:
        self.delivery_id, self.action, self.state, self.why = delivery_id, action, state, why
        super().__init__(f"cannot {action} delivery {delivery_id}, which is {state}: {why}")


class ConstraintViolated(ConflictError):
    """A constraint of a system's table does not allow the rows of a statement of `Transaction`."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"a constraint does not allow these rows: {reason}")


class JobFailed(ConflictError):
    """The job whose result was asked for has failed.

    `code` and `line` are what may be said to end users, and `letter` is the id of its dead letter,
    None where there is none.
    """

    def __init__(
        self,
        job_id: str,
        *,
        error_class: str,
        message: str,
        code: str,
        line: str | None,
        letter: str | None,
    ) -> None:
        self.job_id, self.error_class, self.message = job_id, error_class, message
        self.code, self.line, self.letter = code, line, letter
        what = f"{error_class}: {message}" if message else error_class
        remedy = "" if letter is None else "; its dead letter says what can be done"
        super().__init__(f"job {job_id} failed with {what}{remedy}")


class JobCancelled(ConflictError):
    """The job whose result was asked for was cancelled, and has none."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"job {job_id} was cancelled and has no result; submit it again")


class UnavailableError(HoldfastError):
    """Nothing is wrong with the request; try it again later."""


class QueueFull(UnavailableError):
    """As many jobs wait in the queue as may; nothing was stored."""

    def __init__(self, queue: str, *, limit: int) -> None:
        self.queue, self.limit = queue, limit
        super().__init__(
            f"{limit} jobs or more wait in queue {_shown(queue)}, and max_queued allows no more; "
            "submit it again later, or add workers"
        )


class StoreUnavailable(UnavailableError):
    """The database cannot be reached; `location` is its URL without credentials."""

    def __init__(self, location: str, *, reason: str) -> None:
        self.location, self.reason = location, reason
        super().__init__(
            f"cannot reach {location}: {reason}; check that it runs and that the URL is right, "
            "then try again"
        )


class StoreCorrupt(UnavailableError):
    """The database file is damaged; `location` is its URL without credentials."""

    def __init__(self, location: str, *, reason: str) -> None:
        self.location, self.reason = location, reason
        super().__init__(
            f"{location} is damaged: {reason}; stop all workers and restore it from a backup"
        )


class ReadTooSlow(UnavailableError):
    """Reading took longer than the caller was ready to wait, and was broken off."""

    def __init__(self, *, limit_s: float) -> None:
        self.limit_s = limit_s
        super().__init__(
            f"the database took more than {limit_s} s to find it and was stopped; "
            "ask for less, with a narrower filter or a smaller limit, or try again later"
        )


class ResultTimeout(UnavailableError, TimeoutError):
    """The job whose result was asked for has not ended in time; it goes on."""

    def __init__(self, job_id: str, *, label: str, timeout_s: float | None) -> None:
        self.job_id, self.label, self.timeout_s = job_id, label, timeout_s
        super().__init__(
            f"job {job_id} is {label} after {timeout_s} s; it goes on, so ask for its result later"
        )


class CircuitOpen(UnavailableError):
    """A guard made no call: the upstream's breaker lets none through, or its rate has no room.

    `until` is when it may again, `wait_s` how many seconds that is away; None when nobody knows.
    """

    def __init__(
        self, upstream: str, *, reason: str, until: datetime | None, wait_s: float | None
    ) -> None:
        self.upstream, self.reason = upstream, reason
        self.until, self.wait_s = until, wait_s
        when = "later" if until is None else f"in {wait_s} s, at {until}"
        super().__init__(f"{upstream} was not called: {reason}; try again {when}")


class HandlerSignal(_CarriesFacts):
    """What a handler raises to say how its attempt ended."""


class GiveUp(HandlerSignal):
    """Raised by a handler: this failed, and no further attempt can succeed."""

    def __init__(self, error_class: str, message: str = "") -> None:
        self.error_class = checked_error_class(error_class, owner=type(self).__name__)
        self.message = message
        super().__init__(message or error_class)


class UserError(GiveUp):
    """Raised by a handler: the job's sender made a mistake, and only they can correct it.

    The job fails, is counted and shown to its sender, and leaves no dead letter.
    """


class RetryLater(HandlerSignal):
    """Raised by a handler: not now; run the stage again after `after` seconds."""

    def __init__(self, *, after: float, reason: str = "") -> None:
        if not _is_number(after, at_most=MAX_POSTPONE_S):
            limit = f"a number of seconds from 0 to {MAX_POSTPONE_S:.0f}"
            raise InvalidValue("RetryLater", field="after", value=after, limit=limit)
        self.after, self.reason = float(after), reason
        super().__init__(reason or f"retry after {self.after} s")

    @property
    def after_us(self) -> int:
        """How long to wait, in whole microseconds."""
        return int(self.after * 1_000_000)


def checked_error_class(error_class: object, *, owner: str) -> str:
    """Return the error class as a plain string, or InvalidValue when it is not UPPER_SNAKE."""
    if (
        not isinstance(error_class, str)
        or len(error_class) > MAX_ERROR_CLASS_LENGTH
        or not _ERROR_CLASS.fullmatch(error_class)
    ):
        raise InvalidValue(
            owner,
            field="error_class",
            value=error_class,
            limit=f"UPPER_SNAKE, at most {MAX_ERROR_CLASS_LENGTH} characters, like AUTH_DENIED",
        )
    return str(error_class)
