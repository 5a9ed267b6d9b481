"""A dead letter as one JSON file, in the form in which other programs keep theirs.

    {root}/{operation_type}/{dlq_id}.json

What is checked when an entry is made holds for every entry there is, so what was read from a file
is as good as what was made here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import InitVar, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from holdfast.errors import InvalidDocument, InvalidValue
from holdfast.printable import safe_name

OPERATION_TYPES: Final = ("gmail_fetch", "gemini_extract", "notion_write", "infisical_fetch")
"""What an operation may be, unless the caller says otherwise."""
ERROR_DETAILS: Final = ("error_type", "error_message", "retry_count")
"""What the details of an error have to name."""
MAX_ID_LENGTH: Final = 200
MAX_NAME_LENGTH: Final = 120

_STAMP: Final = "%Y%m%d_%H%M%S_%f"
_ID: Final = re.compile(r"dlq_[0-9]{8}_[0-9]{6}_[A-Za-z0-9._-]+")
_OPERATION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


class DLQStatus(StrEnum):
    """How an entry stands."""

    PENDING = "pending"
    REPLAYING = "replaying"
    COMPLETED = "completed"
    FAILED = "failed"
    """A replay failed as well."""


@dataclass(frozen=True, slots=True)
class DLQEntry:
    """One operation that failed, with all that is needed to do it again.

    Moments may be given as ISO 8601 text; without a zone they are in UTC. `operation_types` are
    those that are known; None allows any that can name a folder.
    """

    dlq_id: str
    email_id: str
    operation_type: str
    status: DLQStatus
    original_payload: Mapping[str, Any]
    error_details: Mapping[str, Any]
    created_at: datetime
    last_attempt: datetime
    replayed_at: datetime | None = None
    processed: bool = False
    """Whether it was replayed with success, so that nobody does it again."""
    operation_types: InitVar[Collection[str] | None] = OPERATION_TYPES

    def __post_init__(self, operation_types: Collection[str] | None) -> None:
        put = object.__setattr__
        _check_id(self.dlq_id)
        _check_email(self.email_id)
        _check_operation(self.operation_type, operation_types)
        put(self, "status", _status(self.status))
        _check_payload(self.original_payload)
        _check_details(self.error_details)
        put(self, "created_at", _moment("created_at", self.created_at))
        put(self, "last_attempt", _moment("last_attempt", self.last_attempt))
        if self.replayed_at is not None:
            put(self, "replayed_at", _moment("replayed_at", self.replayed_at))
        _check_order(self)
        if type(self.processed) is not bool:
            raise _invalid("processed", self.processed, "true or false")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values in the order of the form."""
        return {
            "dlq_id": self.dlq_id,
            "email_id": self.email_id,
            "operation_type": self.operation_type,
            "status": self.status.value,
            "original_payload": dict(self.original_payload),
            "error_details": dict(self.error_details),
            "created_at": self.created_at.isoformat(),
            "last_attempt": self.last_attempt.isoformat(),
            "replayed_at": None if self.replayed_at is None else self.replayed_at.isoformat(),
            "processed": self.processed,
        }

    @classmethod
    def from_json(
        cls,
        document: object,
        *,
        operation_types: Collection[str] | None = OPERATION_TYPES,
    ) -> DLQEntry:
        """The entry that `to_json` wrote; fields that are not known are ignored."""
        if not isinstance(document, Mapping):
            raise _unreadable("", f"{type(document).__name__}", "an object")
        names = [field.name for field in fields(cls)]
        known = {name: document[name] for name in names if name in document}
        missing = [name for name in names[:_REQUIRED] if name not in known]
        if missing:
            raise _unreadable(f"/{missing[0]}", "nothing", "there")
        try:
            return cls(**known, operation_types=operation_types)
        except InvalidValue as error:
            raise _unreadable(f"/{error.field}", error.value, error.limit) from error


_REQUIRED: Final = 8
"""So many fields at the beginning have no default."""


def dlq_id_of(created_at: datetime, email_id: str) -> str:
    """The id of a failure of that moment; what cannot stand in a file's name is replaced."""
    name = safe_name(email_id, longest=MAX_NAME_LENGTH)
    return f"dlq_{created_at.astimezone(UTC).strftime(_STAMP)}_{name}"


def _check_id(dlq_id: object) -> None:
    if not isinstance(dlq_id, str) or len(dlq_id) > MAX_ID_LENGTH or not _ID.fullmatch(dlq_id):
        limit = (
            "dlq_{timestamp}_{email_id}, as in dlq_20260131_080000_abc123, of letters, digits, "
            f"'.', '_' and '-', at most {MAX_ID_LENGTH} characters"
        )
        raise _invalid("dlq_id", dlq_id, limit)


def _check_email(email_id: object) -> None:
    if not isinstance(email_id, str) or not email_id.strip():
        raise _invalid("email_id", email_id, "text that is not empty")


def _check_payload(payload: object) -> None:
    if not isinstance(payload, Mapping) or not payload:
        raise _invalid("original_payload", payload, "an object, not empty")


def _check_operation(operation: object, known: Collection[str] | None) -> None:
    named = isinstance(operation, str) and len(operation) <= MAX_NAME_LENGTH
    if not named or not _OPERATION.fullmatch(str(operation)):
        raise _invalid("operation_type", operation, "a name that a folder can have")
    if known is not None and operation not in known:
        raise _invalid("operation_type", operation, f"one of {', '.join(known)}")


def _status(status: object) -> DLQStatus:
    try:
        return DLQStatus(str(status))
    except ValueError:
        names = ", ".join(member.value for member in DLQStatus)
        raise _invalid("status", status, f"one of {names}") from None


def _check_details(details: object) -> None:
    if not isinstance(details, Mapping):
        raise _invalid("error_details", details, "an object")
    missing = [name for name in ERROR_DETAILS if name not in details]
    if missing:
        raise _invalid(
            "error_details", sorted(map(str, details)), f"with {', '.join(missing)} in it"
        )
    for name in ("error_type", "error_message"):
        if not isinstance(details[name], str):
            raise _invalid(f"error_details/{name}", details[name], "text")
    count = details["retry_count"]
    if type(count) is not int or count < 0:
        raise _invalid("error_details/retry_count", count, "a whole number, not negative")


def _check_order(entry: DLQEntry) -> None:
    if entry.last_attempt < entry.created_at:
        raise _invalid("last_attempt", entry.last_attempt.isoformat(), "at or after created_at")
    if entry.replayed_at is not None and entry.replayed_at < entry.last_attempt:
        raise _invalid("replayed_at", entry.replayed_at.isoformat(), "at or after last_attempt")


def _moment(name: str, value: object) -> datetime:
    moment = value
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            moment = None
    if not isinstance(moment, datetime):
        raise _invalid(name, value, "a moment, or its ISO 8601 text")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _invalid(name: str, value: object, limit: str) -> InvalidValue:
    return InvalidValue("DLQEntry", field=name, value=value, limit=limit)


def _unreadable(path: str, found: str, limit: str) -> InvalidDocument:
    return InvalidDocument("dead letter file", path=path, limit=limit, found=found)
