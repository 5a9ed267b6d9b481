"""A dead letter as one JSON file, and the names that a program gives to what stands in it.

    {folder}/{operation_type}/{id}.json

What is checked when an entry is made holds for every entry there is, so what was read from a file
is as good as what was made here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from holdfast.errors import InvalidDocument, InvalidValue
from holdfast.redaction.printable import safe_name

ERROR_DETAILS: Final = ("error_type", "error_message", "retry_count")
"""What the details of an error have to name."""
MAX_ID_LENGTH: Final = 200
MAX_NAME_LENGTH: Final = 120
WHAT: Final = "dead letter file"

_STAMP: Final = "%Y%m%d_%H%M%S_%f"
_STAMP_LENGTH: Final = 22
_PREFIX: Final = re.compile(r"[a-z][a-z0-9]{0,19}")
_ID: Final = re.compile(r"[a-z][a-z0-9]{0,19}_[0-9]{8}_[0-9]{6}_[A-Za-z0-9._-]+")
_OPERATION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_FIELD: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_REQUIRED: Final = 8
"""So many fields at the beginning have no default."""


class EntryStatus(StrEnum):
    """How an entry stands."""

    PENDING = "pending"
    REPLAYING = "replaying"
    COMPLETED = "completed"
    FAILED = "failed"
    """A replay failed as well."""


@dataclass(frozen=True, slots=True)
class LetterEntry:
    """One operation that failed, with all that is needed to do it again.

    Moments may be given as ISO 8601 text; without a zone they are in UTC.
    """

    entry_id: str
    subject: str
    """What the failure is about: the key of its job, or what an application calls it."""
    operation_type: str
    status: EntryStatus
    original_payload: Mapping[str, Any]
    error_details: Mapping[str, Any]
    created_at: datetime
    last_attempt: datetime
    replayed_at: datetime | None = None
    processed: bool = False
    """Whether nobody is to replay it again."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        _check_id(self.entry_id)
        _check_subject(self.subject)
        _check_operation(self.operation_type)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterForm:
    """What a program calls the id and the subject of its entries, and which operations it has.

    An id is `{prefix}_{timestamp}_{subject}`. Without `operations` any that can name a folder is
    taken.
    """

    id_name: str = "entry_id"
    subject_name: str = "subject"
    prefix: str = "letter"
    operations: Collection[str] | None = None

    def __post_init__(self) -> None:
        for name in ("id_name", "subject_name"):
            value: object = getattr(self, name)
            if not isinstance(value, str) or not _FIELD.fullmatch(value):
                limit = "a name of small letters, digits and '_'"
                raise InvalidValue("LetterForm", field=name, value=value, limit=limit)
        if not _PREFIX.fullmatch(str(self.prefix)):
            limit = "a word of small letters and digits"
            raise InvalidValue("LetterForm", field="prefix", value=self.prefix, limit=limit)

    def name_of(self, field: str) -> str:
        """Return what a field of an entry is called in this form."""
        return {"entry_id": self.id_name, "subject": self.subject_name}.get(field, field)

    def id_of(self, created_at: datetime, subject: str) -> str:
        """Return the id of a failure of that moment; what cannot stand in a name is replaced."""
        name = safe_name(subject, longest=MAX_NAME_LENGTH)
        return f"{self.prefix}_{created_at.astimezone(UTC).strftime(_STAMP)}_{name}"

    def moment_of(self, entry_id: str) -> datetime | None:
        """Return the moment that an id made by `id_of` names; None for any other text."""
        stamp = entry_id.removeprefix(f"{self.prefix}_")[:_STAMP_LENGTH]
        if not entry_id.startswith(f"{self.prefix}_") or not _ID.fullmatch(entry_id):
            return None
        try:
            return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
        except ValueError:
            return None

    def write(self, entry: LetterEntry) -> dict[str, Any]:
        """Return plain JSON values in the order of the form."""
        return {
            self.id_name: entry.entry_id,
            self.subject_name: entry.subject,
            "operation_type": entry.operation_type,
            "status": entry.status.value,
            "original_payload": dict(entry.original_payload),
            "error_details": dict(entry.error_details),
            "created_at": entry.created_at.isoformat(),
            "last_attempt": entry.last_attempt.isoformat(),
            "replayed_at": None if entry.replayed_at is None else entry.replayed_at.isoformat(),
            "processed": entry.processed,
        }

    def read(self, document: object) -> LetterEntry:
        """Return the entry that `write` wrote; fields that are not known are ignored."""
        if not isinstance(document, Mapping):
            raise _unreadable("", f"{type(document).__name__}", "an object")
        names = [field.name for field in fields(LetterEntry)]
        known = {
            name: document[self.name_of(name)] for name in names if self.name_of(name) in document
        }
        missing = [name for name in names[:_REQUIRED] if name not in known]
        if missing:
            raise _unreadable(f"/{self.name_of(missing[0])}", "nothing", "there")
        try:
            entry = LetterEntry(**known)
            self.check(entry)
        except InvalidValue as error:
            raise _unreadable(f"/{self.name_of(error.field)}", error.value, error.limit) from error
        return entry

    def check(self, entry: LetterEntry) -> None:
        """Raise `InvalidValue` for an entry that is none of this form."""
        if not entry.entry_id.startswith(f"{self.prefix}_"):
            limit = f"{self.prefix}_{{timestamp}}_{{{self.subject_name}}}"
            raise _invalid("entry_id", entry.entry_id, limit)
        if self.operations is not None and entry.operation_type not in self.operations:
            limit = f"one of {', '.join(self.operations)}"
            raise _invalid("operation_type", entry.operation_type, limit)


PLAIN_FORM: Final = LetterForm()
"""The form of a program that has no names of its own."""


def _check_id(entry_id: object) -> None:
    if (
        not isinstance(entry_id, str)
        or len(entry_id) > MAX_ID_LENGTH
        or not _ID.fullmatch(entry_id)
    ):
        limit = (
            "a word, a timestamp and a subject, as in letter_20260131_080000_abc123, of letters, "
            f"digits, '.', '_' and '-', at most {MAX_ID_LENGTH} characters"
        )
        raise _invalid("entry_id", entry_id, limit)


def _check_subject(subject: object) -> None:
    if not isinstance(subject, str) or not subject.strip():
        raise _invalid("subject", subject, "text that is not empty")


def _check_payload(payload: object) -> None:
    if not isinstance(payload, Mapping) or not payload:
        raise _invalid("original_payload", payload, "an object, not empty")


def _check_operation(operation: object) -> None:
    named = isinstance(operation, str) and len(operation) <= MAX_NAME_LENGTH
    if not named or not _OPERATION.fullmatch(str(operation)):
        raise _invalid("operation_type", operation, "a name that a folder can have")


def _status(status: object) -> EntryStatus:
    try:
        return EntryStatus(str(status))
    except ValueError:
        names = ", ".join(member.value for member in EntryStatus)
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


def _check_order(entry: LetterEntry) -> None:
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
    return InvalidValue("LetterEntry", field=name, value=value, limit=limit)


def _unreadable(path: str, found: str, limit: str) -> InvalidDocument:
    return InvalidDocument(WHAT, path=path, limit=limit, found=found)
