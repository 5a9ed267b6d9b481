"""One operation that failed for good, as it stands in `data/dlq/{operation_type}/{dlq_id}.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from holdfast.errors import InvalidDocument, InvalidValue
from holdfast.letter_files import EntryStatus as DLQStatus
from holdfast.letter_files import LetterEntry, LetterForm

__all__ = ["DLQ_FORM", "OPERATION_TYPES", "DLQEntry", "DLQStatus", "is_email_id"]

OPERATION_TYPES: Final = ("gmail_fetch", "gemini_extract", "notion_write", "infisical_fetch")
DLQ_FORM: Final = LetterForm(
    id_name="dlq_id", subject_name="email_id", prefix="dlq", operations=OPERATION_TYPES
)
"""What stands in the files, as the engine writes and reads them."""

_EMAIL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EMAIL_ID_LIMIT: Final = "the id of a message at Gmail: 1 to 64 letters, digits, '-' and '_'"


def is_email_id(text: object) -> bool:
    """Return whether a text can be the id of a message at Gmail, and stand in a file's name."""
    return isinstance(text, str) and _EMAIL_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class DLQEntry:
    """One operation that failed, with all that is needed to do it again.

    Moments may be given as ISO 8601 text; without a zone they are in UTC. Where there was no mail
    yet, `email_id` is `inbox` or `startup`.
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
    """Whether nobody is to replay it again."""

    def __post_init__(self) -> None:
        entry = self._checked()
        for name in ("status", "created_at", "last_attempt", "replayed_at"):
            object.__setattr__(self, name, getattr(entry, name))

    @classmethod
    def of(cls, entry: LetterEntry) -> DLQEntry:
        """Return what the engine has, in this system's names."""
        return cls(
            entry.entry_id,
            entry.subject,
            entry.operation_type,
            entry.status,
            entry.original_payload,
            entry.error_details,
            entry.created_at,
            entry.last_attempt,
            entry.replayed_at,
            entry.processed,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values in the order of the form."""
        return DLQ_FORM.write(self._entry())

    @classmethod
    def from_json(cls, document: object) -> DLQEntry:
        """Return the entry that `to_json` wrote; fields that are not known are ignored."""
        entry = DLQ_FORM.read(document)
        if not is_email_id(entry.subject):
            raise InvalidDocument(
                "dead letter file", path="/email_id", found=entry.subject, limit=_EMAIL_ID_LIMIT
            )
        return cls.of(entry)

    def _entry(self) -> LetterEntry:
        return LetterEntry(
            self.dlq_id,
            self.email_id,
            self.operation_type,
            self.status,
            self.original_payload,
            self.error_details,
            self.created_at,
            self.last_attempt,
            self.replayed_at,
            self.processed,
        )

    def _checked(self) -> LetterEntry:
        try:
            entry = self._entry()
            DLQ_FORM.check(entry)
        except InvalidValue as error:
            name = DLQ_FORM.name_of(error.field)
            value = getattr(self, name, error.value)
            raise InvalidValue("DLQEntry", field=name, value=value, limit=error.limit) from None
        if not is_email_id(self.email_id):
            raise InvalidValue(
                "DLQEntry", field="email_id", value=self.email_id, limit=_EMAIL_ID_LIMIT
            )
        return entry
