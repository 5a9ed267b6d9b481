"""What main and the dead-letter queue are sent when a request is retried, held or given up.

The messages are written in the commit of the decision, so that neither is without the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from grading.grader.journal import COST_LIMIT
from grading.grader.rows import RequestRow, begin_answering, read_request
from grading.messages.contract import CALLBACK, DLQ
from grading.messages.outgoing import (
    circuit_callback,
    dlq_record,
    error_callback,
    event_id,
    progress_callback,
)
from grading.states import CIRCUIT_OPEN, FailureReason, Step
from grading.tables.times import from_us
from holdfast import Holdfast
from holdfast.messaging import Decided, DecidedFailure, Message

_RETRYING: Final = "a call failed and is tried again"
"""Learners read it."""
_ENDS: Final = {"failed", "refused", "cancelled", "expired"}


class Decisions:
    """Return the messages of a decision about a request."""

    def __init__(self, app: Callable[[], Holdfast], *, cooldown_s: float, redact_dlq: bool) -> None:
        self._app = app
        self._cooldown_s = cooldown_s
        self._redact_dlq = redact_dlq

    def __call__(self, decided: Decided) -> Iterable[Message]:
        """Return what is published in the commit of a decision."""
        if decided.kind in _ENDS:
            return self._given_up(decided)
        if decided.kind == "retried":
            return self._retried(decided)
        if decided.kind in {"held", "snoozed"}:
            return self._put_off(decided)
        return ()

    def _given_up(self, decided: Decided) -> list[Message]:
        reason = reason_of(decided.kind, decided.failure)
        line = line_of(decided.kind, decided.failure, stage=decided.stage)
        messages = []
        row = self._request(decided, ends=True)
        # One that has passed even the grace has timed out at main long ago.
        if row is not None and decided.kind != "expired":
            callback = error_callback(
                row.addressee,
                event=event_id(decided.job_id, decided.revision, "error"),
                reason=reason,
                message=line,
                attempts_made=decided.attempts,
                at=decided.at,
                kind=decided.failure.error_class if decided.failure else decided.kind,
            )
            messages.append(Message(CALLBACK, callback, row.submission_id))
        if decided.kind != "cancelled":
            record = dlq_record(
                original=decided.payload,
                reason=reason,
                attempts_made=decided.attempts,
                last_error=line,
                at=decided.at,
                stage=decided.stage,
                redact=self._redact_dlq,
            )
            messages.append(Message(DLQ, record))
        return messages

    def _retried(self, decided: Decided) -> list[Message]:
        row = self._request(decided)
        if row is None:
            return []
        callback = progress_callback(
            row.addressee,
            event=event_id(decided.job_id, decided.revision, "retrying"),
            step=Step.RETRYING,
            progress=0.0,
            message=_RETRYING,
            at=decided.at,
        )
        return [Message(CALLBACK, callback, row.submission_id)]

    def _put_off(self, decided: Decided) -> list[Message]:
        """Return the notice that an upstream is not called, once for each time it opened."""
        detail = decided.detail
        upstream = str(detail.get("upstream", "model"))
        if detail.get("reason") not in (CIRCUIT_OPEN, COST_LIMIT) or decided.until is None:
            return []
        row = self._request(decided)
        if row is None or self._was_noticed(decided, since=self._opened_at(upstream, decided.at)):
            return []
        callback = circuit_callback(
            row.addressee,
            event=event_id(decided.job_id, decided.revision, CIRCUIT_OPEN),
            upstream=upstream,
            retry_after_s=(decided.until - decided.at).total_seconds(),
            at=decided.at,
        )
        return [Message(CALLBACK, callback, row.submission_id)]

    def _opened_at(self, upstream: str, now: datetime) -> datetime:
        """Return from when on a notice is about the present opening of a breaker."""
        known = self._app().upstreams.known().get(upstream)
        if known is None or known.since is None:
            return now - timedelta(seconds=self._cooldown_s)
        since = from_us(known.since)
        if known.gate == "open":
            return since
        # Half open: it opened a cooldown before that.
        return since - timedelta(seconds=self._cooldown_s + 1.0)

    def _was_noticed(self, decided: Decided, *, since: datetime) -> bool:
        lines = self._app().history(decided.job_id)
        return any(
            line.event in {"held", "snoozed"}
            and line.meta.get("reason") in (CIRCUIT_OPEN, COST_LIMIT)
            and from_us(line.at) >= since
            for line in lines
        )

    def _request(self, decided: Decided, *, ends: bool = False) -> RequestRow | None:
        if decided.key is None:
            return None
        if not ends:
            with self._app().reading() as db:
                return read_request(db, decided.key)
        with self._app().transaction(one_statement=True) as tx:
            return begin_answering(tx, decided.key)


def reason_of(kind: str, failure: DecidedFailure | None) -> FailureReason:
    """Return why a request is given up, in the words of the document."""
    if kind == "cancelled":
        return FailureReason.CANCELLED
    if kind == "expired":
        return FailureReason.TIMEOUT
    if failure is None:
        return FailureReason.INTERNAL
    if failure.error_class in set(FailureReason):
        return FailureReason(failure.error_class)
    return FailureReason.MAX_RETRIES if failure.retryable else FailureReason.INTERNAL


def line_of(kind: str, failure: DecidedFailure | None, *, stage: str) -> str:
    """Return why, in a line that holds nothing of an answer.

    Providers may repeat what they got, and so may exceptions that nobody foresaw.
    """
    if failure is None:
        return f"it was {kind}"
    if failure.http_status is not None:
        return f"{failure.error_class}: the provider answered with HTTP {failure.http_status}"
    if failure.error_class in set(FailureReason):
        return f"{failure.error_class}: {failure.message}"
    return f"{failure.error_class}: the stage {stage} failed; its dead letter says more"
