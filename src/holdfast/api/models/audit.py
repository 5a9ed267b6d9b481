"""The audit log, as the API shows it."""

from __future__ import annotations

from pydantic import BaseModel

from holdfast.api.models.values.acting import Action
from holdfast.core.values.instant import to_rfc3339
from holdfast.store.tables.audit import AuditEntry


class AuditLine(Action):
    """One action; `by` is `holdfast` where the engine acted by itself."""

    id: int
    subject_kind: str
    subject: str

    @classmethod
    def of(cls, entry: AuditEntry) -> AuditLine:
        """Return an entry of the audit log as the API shows it."""
        return cls(
            id=entry.id or 0,
            at=to_rfc3339(entry.at),
            by=entry.done_by,
            action=entry.action,
            subject_kind=entry.subject_kind,
            subject=entry.subject,
            reason=entry.reason,
            detail=None if entry.detail is None else dict(entry.detail),
        )


class AuditPage(BaseModel):
    """Some of the audit log, newest first."""

    items: list[AuditLine]
    next_cursor: str | None
