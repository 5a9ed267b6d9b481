"""How the jobs of a pipeline appear in histories, streams and logs: its words, and its codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.classify.public import PublicCode, PublicCodes
from holdfast.core.job.decision import Entry, Kind
from holdfast.core.values.failure import Category, Failure

QUEUED: Final = "queued"
PROCESSING: Final = "processing"
EVENTS: Final = frozenset({QUEUED, PROCESSING, *(kind.value for kind in Kind)})
"""What the engine calls the events of a job."""
NAMES: Final = {kind: kind.value for kind in Kind} | {
    Kind.COMPLETED: "complete",
    Kind.RETRIED: "retry",
    Kind.SUSPENDED: "waiting",
    Kind.REFUSED: "failed",
}
"""What a stream calls them: by the word for the state that they lead to, where it has one."""
WORDS: Final = frozenset({QUEUED, PROCESSING, *NAMES.values()})
"""What a pipeline may call them: the words that those who follow a stream listen for."""


class Presentation(NamedTuple):
    """What a pipeline says about its own jobs."""

    codes: PublicCodes | None = None
    words: Mapping[str, str] = MappingProxyType({})
    """What an event is called in place of the engine's own word."""
    log_attempts: bool = False
    """Whether attempts that begin and that succeed are logged at the level info."""

    def public(self, entry: Entry) -> PublicCode | None:
        """Return the public code of the failure that an entry is about; None without codes."""
        if self.codes is None or entry.error_class is None:
            return None
        final = entry.kind is not Kind.RETRIED
        return self.codes.of(_failure_of(entry, entry.error_class), final=final)

    def facts(self, entry: Entry) -> dict[str, Any]:
        """Return what is known of a failure: its public code and line, and its error class.

        Without public codes the error class is the code.
        """
        if entry.error_class is None:
            return {}
        public = self.public(entry)
        if public is None:
            return {"error_code": entry.error_class, "error_class": entry.error_class}
        return {
            "error_code": public.code,
            "error_message": public.message,
            "error_class": entry.error_class,
        }


PLAIN: Final = Presentation()
"""Of a pipeline that says nothing about its jobs, or that this process does not know."""

PresentationOf: TypeAlias = Callable[[str], Presentation]
"""Return how the jobs of a pipeline appear, by its name."""


def plain(_: str) -> Presentation:
    """Return the engine's own words, whichever pipeline it is."""
    return PLAIN


def duration_ms(entry: Entry) -> float | None:
    """Return how long the attempt took that an entry ends; None where it ends none."""
    if entry.holder is None or entry.started_at is None:
        return None
    return round((entry.at - entry.started_at) / 1000, 3)


def meta_of(entry: Entry, shown: Presentation) -> dict[str, Any]:
    """Return the circumstances of an entry."""
    meta: dict[str, Any] = {}
    took_ms = duration_ms(entry)
    if took_ms is not None:
        meta["duration_ms"] = took_ms
    meta |= shown.facts(entry)
    if entry.http_status is not None:
        meta["gateway_http_status"] = entry.http_status
    if entry.detail is not None:
        meta |= json.loads(entry.detail)
    return meta


def whole_meta(attempt: int, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return circumstances with what every event has, null where there is nothing to say."""
    return {
        "attempt": attempt,
        "duration_ms": None,
        "gateway_http_status": None,
        "error_code": None,
        **meta,
    }


def _failure_of(entry: Entry, error_class: str) -> Failure:
    """Return the failure as far as the ledger keeps it."""
    detail = {} if entry.detail is None else json.loads(entry.detail)
    again = entry.kind is Kind.RETRIED
    return Failure(
        error_class=error_class,
        message=str(detail.get("message", "")),
        category=Category.TRANSIENT if again else Category.PERMANENT,
        retryable=again,
        http_status=entry.http_status,
    )
