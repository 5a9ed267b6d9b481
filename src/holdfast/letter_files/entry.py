"""Between dead letters and the entries of their files.

What an entry has no place for travels in its error details, under `holdfast`. A letter that is
made of an entry keeps all of it, so that it is written as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from uuid import UUID, uuid5

from holdfast.core.dead_letter.dead_letter import (
    FILE,
    MESSAGE,
    DeadLetter,
    LetterState,
    is_dismissed,
)
from holdfast.core.dead_letter.fingerprint import fingerprint
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.document import Limits, decode, encode
from holdfast.core.values.document import fingerprint as fingerprint_of_document
from holdfast.core.values.failure import (
    MAX_MESSAGE_LENGTH,
    MAX_STACK_LENGTH,
    Category,
    Failure,
    Severity,
    clean_text,
)
from holdfast.core.values.instant import FAR_FUTURE, Instant, from_datetime, to_datetime
from holdfast.core.values.json_flaws import MAX_DEPTH
from holdfast.errors import InvalidValue, UsageError, checked_error_class
from holdfast.letter_files.form import PLAIN_FORM, EntryStatus, LetterEntry, LetterForm
from holdfast.secrecy import private, private_value, safe_text

OURS: Final = "holdfast"
"""The name in an entry's error details under which holdfast's own facts stand."""
DIGEST: Final = "payload_sha256"
PLAIN: Final = "holdfast_payload"
"""The name under which a payload stands that is no object, or an empty one."""
LIMITS: Final = Limits(max_bytes=64 * 1024 * 1024, max_depth=MAX_DEPTH)
DONE_ELSEWHERE: Final = "was done with where it came from"

_NAMESPACE: Final = UUID("6c0c7a52-5b0e-5f0a-9d6e-2d3b3f1f7c11")
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_UNKNOWN_CLASS: Final = "UNKNOWN"
_MOST: Final = 2_147_483_647
_HTTP: Final = range(100, 600)
_Kind = TypeVar("_Kind", bound=StrEnum)
_NAME_LENGTH: Final = 255


class Described(NamedTuple):
    """What an application says of a dead letter of its own, for the file of it."""

    subject: str
    operation_type: str
    payload: Any
    """What can be corrected, and is what a replay sends."""


Describe: TypeAlias = Callable[[DeadLetter, Job], Described]


def described(letter: DeadLetter, job: Job) -> Described:
    """Return what there is to say of any letter: its key, its stage, the payload of its job."""
    subject = job.key if job.key is not None and job.key.strip() else job.id
    return Described(subject, letter.stage, decode(job.payload))


def letter_id_of(entry_id: str) -> str:
    """Return the id of the letter that is made of an entry: always the same for the same entry."""
    return str(uuid5(_NAMESPACE, entry_id))


def job_id_of(entry: LetterEntry) -> str | None:
    """Return the id of the job that an entry was written of, if it was one of holdfast's."""
    try:
        return str(UUID(str(_ours(entry)["job_id"])))
    except (KeyError, ValueError):
        return None


def is_redacted(entry: LetterEntry) -> bool:
    """Return whether the payload of an entry is not what the job was given."""
    return bool(_ours(entry).get("redacted"))


def payload_of(entry: LetterEntry) -> Any:  # noqa: ANN401 - JSON of any shape
    """What a job was, or is to be, given."""
    payload = entry.original_payload
    return payload[PLAIN] if set(payload) == {PLAIN} else dict(payload)


def entry_of(
    letter: DeadLetter,
    job: Job | None,
    *,
    redact: bool = False,
    form: LetterForm = PLAIN_FORM,
    describe: Describe = described,
) -> LetterEntry:
    """The entry of a letter; without `redact` its payload is the original, secrets included."""
    own = letter.kind != FILE
    entry = _entry_of_job(letter, job, form, describe) if own else entry_of_file(letter)
    if not redact:
        return entry
    details: dict[str, Any] = private_value(dict(entry.error_details))
    subject = private(entry.subject)
    return replace(
        entry,
        entry_id=form.id_of(entry.created_at, subject) if own else entry.entry_id,
        subject=subject,
        original_payload=private_value(dict(entry.original_payload)),
        error_details={**details, OURS: {**(details.get(OURS) or {}), "redacted": True}},
    )


def entry_of_file(letter: DeadLetter) -> LetterEntry:
    """Return the entry that a letter was made of, with what became of it here."""
    document = decode(letter.origin or "null")
    if letter.kind != FILE or letter.payload is None or not isinstance(document, dict):
        raise UsageError(f"dead letter {letter.id} did not come from a file")
    told: dict[str, Any] = {**document, "original_payload": decode(letter.payload)}
    if letter.state is LetterState.RESOLVED and not told["processed"]:
        told |= {"status": EntryStatus.COMPLETED.value, "processed": True}
        if letter.replayed_at is not None:
            told["replayed_at"] = _later_moment(letter.replayed_at, str(told["last_attempt"]))
    return LetterEntry(**told)


def digest_of(payload: Mapping[str, Any]) -> str:
    """Return by what the payload of an entry is known again, to see whether it was changed."""
    return fingerprint_of_document(dict(payload))


def was_edited(entry: LetterEntry) -> bool:
    """Whether the payload of a file is not the one that was written; true where that is unknown."""
    return _ours(entry).get(DIGEST) != digest_of(entry.original_payload)


def letter_of(entry: LetterEntry, *, now: Instant, processed: bool = False) -> DeadLetter:
    """The letter of an entry whose job is not here; `processed` when that is known elsewhere."""
    ours, details = _ours(entry), entry.error_details
    failure = _failure(entry)
    retries = int(details["retry_count"])
    state = _state(entry, processed=processed)
    last = _instant("last_attempt", entry.last_attempt)
    told = {
        **PLAIN_FORM.write(entry),
        "error_details": private_value(dict(details)),
        "processed": entry.processed or processed,
    }
    del told["original_payload"]
    return DeadLetter(
        id=letter_id_of(entry.entry_id),
        kind=FILE,
        pipeline=_text(ours, "pipeline"),
        stage=entry.operation_type,
        queue=_text(ours, "queue"),
        owner=_text(ours, "owner"),
        error_class=failure.error_class,
        previous_class=None,
        category=failure.category,
        severity=failure.severity,
        retryable=failure.retryable,
        outcome_known=failure.outcome_known,
        http_status=failure.http_status,
        attempts=min(retries + 1, _MOST),
        deaths=_number(ours, "deaths", 2 if entry.status is EntryStatus.FAILED else 1),
        first_failure_at=_instant("created_at", entry.created_at),
        last_failure_at=last,
        holder=None,
        message=failure.message,
        exception_type=failure.exception_type,
        stack=failure.stack,
        fingerprint=fingerprint(failure, entry.operation_type),
        payload=encode(dict(entry.original_payload), what="original_payload", limits=LIMITS),
        state=state,
        revision=0,
        updated_at=now,
        cause=None,
        evidence=None,
        note=DONE_ELSEWHERE if state is LetterState.RESOLVED else None,
        replayed_at=last if state is LetterState.REPLAYED else None,
        resolved_at=now if state is LetterState.RESOLVED else None,
        origin=encode(told, what="entry", limits=LIMITS),
    )


def _entry_of_job(
    letter: DeadLetter, job: Job | None, form: LetterForm, describe: Describe
) -> LetterEntry:
    if letter.kind == MESSAGE:
        raise UsageError(f"dead letter {letter.id} is of a message, which has no form as a file")
    if job is None:
        raise UsageError(f"dead letter {letter.id} has no payload: its job is no longer there")
    subject, operation_type, payload = describe(letter, job)
    sent = wrapped(payload)
    created_at = to_datetime(letter.first_failure_at)
    status, processed = _status(letter, job)
    return LetterEntry(
        entry_id=form.id_of(created_at, subject),
        subject=subject,
        operation_type=operation_type,
        status=status,
        original_payload=sent,
        error_details=_details(letter, job, sent),
        created_at=created_at,
        last_attempt=to_datetime(letter.last_failure_at),
        replayed_at=_replayed_at(job, status),
        processed=processed,
    )


def _details(letter: DeadLetter, job: Job, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "error_type": letter.exception_type or letter.error_class,
        "error_message": letter.message,
        "stack_trace": letter.stack or None,
        "retry_count": max(letter.attempts - 1, 0),
        OURS: {
            "job_id": letter.id,
            "pipeline": letter.pipeline,
            "queue": letter.queue,
            "owner": letter.owner,
            "key": job.key,
            "error_class": letter.error_class,
            "category": letter.category.value,
            "severity": letter.severity.value,
            "retryable": letter.retryable,
            "outcome_known": letter.outcome_known,
            "http_status": letter.http_status,
            "deaths": letter.deaths,
            **({} if letter.note is None else {"note": letter.note}),
            DIGEST: digest_of(payload),
        },
    }


def _status(letter: DeadLetter, job: Job) -> tuple[EntryStatus, bool]:
    """How the entry of a job's letter stands, and whether nobody is to replay it again."""
    if letter.state is LetterState.RESOLVED and is_dismissed(letter, job.state):
        return EntryStatus.COMPLETED, True
    if job.state is JobState.COMPLETE:
        return EntryStatus.COMPLETED, True
    if letter.state is LetterState.REPLAYED and job.state is not JobState.CANCELLED:
        return EntryStatus.REPLAYING, False
    again = letter.deaths > 1 or letter.state is LetterState.REPLAYED
    return EntryStatus.FAILED if again else EntryStatus.PENDING, False


def _replayed_at(job: Job, status: EntryStatus) -> datetime | None:
    if status is not EntryStatus.COMPLETED or job.finished_at is None:
        return None
    return to_datetime(job.finished_at)


def wrapped(payload: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON of any shape
    """Return a payload as an entry has it: an object that is not empty."""
    if isinstance(payload, dict) and payload and set(payload) != {PLAIN}:
        return payload
    return {PLAIN: payload}


def _ours(entry: LetterEntry) -> Mapping[str, Any]:
    found = entry.error_details.get(OURS)
    return found if isinstance(found, Mapping) else {}


def _failure(entry: LetterEntry) -> Failure:
    """What is known of the failure; of what another system does not tell, the worst is assumed."""
    ours, details = _ours(entry), entry.error_details
    status = ours.get("http_status")
    return Failure(
        error_class=_error_class(ours.get("error_class"), details["error_type"]),
        message=safe_text(details["error_message"], MAX_MESSAGE_LENGTH),
        category=_member(Category, ours.get("category"), Category.PERMANENT),
        retryable=ours.get("retryable") is True,
        severity=_member(Severity, ours.get("severity"), Severity.ERROR),
        outcome_known=ours.get("outcome_known") is True,
        http_status=status if type(status) is int and status in _HTTP else None,
        exception_type=details["error_type"],
        stack=safe_text(str(details.get("stack_trace") or ""), MAX_STACK_LENGTH),
    )


def _member(kind: type[_Kind], given: object, otherwise: _Kind) -> _Kind:
    try:
        return kind(str(given))
    except ValueError:
        return otherwise


def _error_class(given: object, error_type: str) -> str:
    """Return the error class, or one made of the name of the exception."""
    last = error_type.rpartition(".")[2]
    for name in (given, _WORD_START.sub("_", last).strip("_").upper()):
        try:
            return checked_error_class(name, owner="entry")
        except InvalidValue:
            continue
    return _UNKNOWN_CLASS


def _state(entry: LetterEntry, *, processed: bool) -> LetterState:
    if processed or entry.processed or entry.status is EntryStatus.COMPLETED:
        return LetterState.RESOLVED
    return LetterState.REPLAYED if entry.status is EntryStatus.REPLAYING else LetterState.OPEN


def _later_moment(instant: Instant, last_attempt: str) -> str:
    """A moment of this system's clock, and never before what another one's said."""
    return max(to_datetime(instant), datetime.fromisoformat(last_attempt)).isoformat()


def _instant(field: str, moment: datetime) -> Instant:
    instant = from_datetime(moment)
    if not 0 <= instant <= FAR_FUTURE:
        raise InvalidValue(
            "LetterEntry", field=field, value=moment.isoformat(), limit="between 1970 and 9999"
        )
    return instant


def _text(ours: Mapping[str, Any], name: str) -> str:
    found = ours.get(name)
    return clean_text(found, _NAME_LENGTH) if isinstance(found, str) else ""


def _number(ours: Mapping[str, Any], name: str, otherwise: int) -> int:
    found = ours.get(name)
    return found if type(found) is int and 1 <= found <= _MOST else otherwise
