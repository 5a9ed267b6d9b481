"""Who may submit the jobs of a pipeline, and who may send failed ones back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class SubmitBy(StrEnum):
    """Who makes the jobs of a pipeline."""

    ANYONE = "anyone"
    SYSTEM = "system"
    """Its own system alone: what serves every pipeline alike makes none."""


class RetryBy(StrEnum):
    """Who sends failed jobs back, each also by the ways of those below."""

    OWNER = "owner"
    """Their owner, and every operator."""
    OPERATOR = "operator"
    WORKFLOW = "workflow"
    """The replay of a dead letter, which takes a triage and evidence on record."""


_RANK: Final = {by: rank for rank, by in enumerate(RetryBy)}


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of a pipeline about who makes jobs and who sends them back.

    They are stored with its plans, so that processes without its code keep to them.
    """

    submit_by: SubmitBy = SubmitBy.ANYONE
    submit_at: str | None = None
    """Where its system takes jobs, for messages to people."""
    retry_by: RetryBy = RetryBy.OWNER
    refuses_retries: bool = False
    """Whether its own code is asked before a failed job is sent back."""

    def lets_retry(self, asker: RetryBy) -> bool:
        """Return whether failed jobs may be sent back the way that `asker` comes."""
        return _RANK[asker] >= _RANK[self.retry_by]

    def to_document(self) -> dict[str, Any]:
        """Return the form that is stored."""
        return {
            "submit_by": self.submit_by.value,
            "submit_at": self.submit_at,
            "retry_by": self.retry_by.value,
            "refuses_retries": self.refuses_retries,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Access:
        """Read the form that is stored."""
        return cls(
            submit_by=SubmitBy(document["submit_by"]),
            submit_at=document["submit_at"],
            retry_by=RetryBy(document["retry_by"]),
            refuses_retries=document["refuses_retries"],
        )


OPEN: Final = Access()
"""The rules of a pipeline that declares none."""
