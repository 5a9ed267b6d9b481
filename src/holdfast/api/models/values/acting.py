"""What a request that does something says, and what the audit log keeps of it."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from holdfast.api.models.values.moment import Moment
from holdfast.api.models.values.texts import Text
from holdfast.core.values.instant import to_rfc3339
from holdfast.store.tables.audit import AuditEntry


class Request(BaseModel):
    """A body of a request: what is not named here is refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Reasoned(Request):
    """Why something is to be done; it is kept in the audit log."""

    reason: Text | None = None


NO_REASON: Final = Reasoned()
"""What stands for a body that was left out."""


class Action(BaseModel):
    """What a person did, as the audit log of one thing has it."""

    at: Moment
    by: str
    action: str
    reason: str | None
    detail: dict[str, Any] | None

    @classmethod
    def of(cls, entry: AuditEntry) -> Action:
        """Return an entry of the audit log as the API shows it."""
        return cls(
            at=to_rfc3339(entry.at),
            by=entry.done_by,
            action=entry.action,
            reason=entry.reason,
            detail=None if entry.detail is None else dict(entry.detail),
        )
