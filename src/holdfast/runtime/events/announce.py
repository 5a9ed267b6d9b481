"""What is announced after a commit: to logs, and to listeners. Nothing here may fail a job."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.dead_letter.dead_letter import DeadLetter
from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.job import Job
from holdfast.core.values.ids import JobId
from holdfast.core.values.trace_context import read
from holdfast.runtime.events.presentation import (
    PLAIN,
    PROCESSING,
    Presentation,
    PresentationOf,
    duration_ms,
    plain,
)
from holdfast.runtime.events.signals import LetterEscalated, Signal
from holdfast.runtime.kernel import failpoint

LOGGER: Final = logging.getLogger("holdfast.worker")

_LEVELS: Final = {
    Kind.ADVANCED: logging.DEBUG,
    Kind.COMPLETED: logging.DEBUG,
    Kind.SUSPENDED: logging.DEBUG,
    Kind.PROGRESS: logging.DEBUG,
    Kind.RETRIED: logging.INFO,
    Kind.SNOOZED: logging.INFO,
    Kind.INTERRUPTED: logging.INFO,
    Kind.HELD: logging.INFO,
    Kind.CANCELLED: logging.INFO,
    Kind.REVIVED: logging.INFO,
    Kind.REFUSED: logging.INFO,
    Kind.RESULT_REMOVED: logging.INFO,
    Kind.LATE: logging.WARNING,
    Kind.EXPIRED: logging.ERROR,
    Kind.FAILED: logging.ERROR,
}


class Applied(NamedTuple):
    """A decision that was committed, and the job it was decided from."""

    job: Job
    decision: Decision


Subscriber = Callable[[Applied], None]
Escalated = Callable[[Collection[JobId]], Sequence[DeadLetter]]
BreakerOf = Callable[[Job], str | None]
"""How the breaker of the upstream stands that a job's stage calls, if it calls one."""


def _nothing(_: Collection[JobId]) -> Sequence[DeadLetter]:
    return ()


class Announcer:
    """Logs applied decisions and hands them to subscribers."""

    def __init__(
        self,
        escalated: Escalated = _nothing,
        shown_as: PresentationOf = plain,
        *,
        breaker_of: BreakerOf = lambda _: None,
        signal: Signal[LetterEscalated] | None = None,
    ) -> None:
        self._subscribers: tuple[Subscriber, ...] = ()
        self._escalated = escalated
        self._shown_as = shown_as
        self._breaker_of = breaker_of
        self._signal = signal or Signal[LetterEscalated]()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` after each applied decision of this process; returns the undoing."""
        self._subscribers = (*self._subscribers, subscriber)

        def unsubscribe() -> None:
            self._subscribers = tuple(
                other for other in self._subscribers if other is not subscriber
            )

        return unsubscribe

    def announce(self, applied: Iterable[Applied]) -> None:
        """Tell what was applied."""
        failpoint.reach("announce.before")
        lowest = LOGGER.getEffectiveLevel()
        again: list[Applied] = []
        for item in applied:
            if item.job.retries and item.decision.buries:
                again.append(item)
            level = _LEVELS[item.decision.entry.kind]
            if level >= lowest or lowest <= logging.INFO:
                self._log(item, level, lowest)
            for subscriber in self._subscribers:
                try:
                    subscriber(item)
                except Exception:
                    LOGGER.exception("a subscriber failed", extra={"job_id": item.job.id})
        if again:
            self._announce_escalated(again)
        failpoint.reach("announce.after")

    def begun(self, jobs: Iterable[Job]) -> None:
        """Log each attempt that begins, where its pipeline or the level asks for that."""
        lowest = LOGGER.getEffectiveLevel()
        if lowest > logging.INFO:
            return
        for job in jobs:
            shown = self._shown_as(job.pipeline)
            level = logging.INFO if shown.log_attempts else logging.DEBUG
            if level >= lowest:
                word = shown.words.get(PROCESSING, PROCESSING)
                LOGGER.log(level, "job %s", word, extra=self._facts_of_begun(job, word))

    def _log(self, item: Applied, level: int, lowest: int) -> None:
        if self._shown_as(item.job.pipeline).log_attempts:
            level = max(level, logging.INFO)
        if level >= lowest:
            known = self._facts(item)
            LOGGER.log(level, "job %s", known["event"], extra=known)

    def _announce_escalated(self, again: Sequence[Applied]) -> None:
        """Cry out about jobs that failed again, after a replay, of what no repetition cures."""
        jobs = {item.job.id: item for item in again}
        try:
            escalated = self._escalated(jobs.keys())
        except Exception:
            LOGGER.exception("it cannot be told which dead letters are escalated")
            return
        for letter in escalated:
            self._signal.tell(LetterEscalated(letter))
            LOGGER.critical(
                "dead letter escalated: replayed, and failed again for the same reason",
                extra={
                    **self._facts(jobs[JobId(letter.id)]),
                    "event": "escalated",
                    "deaths": letter.deaths,
                    "fingerprint": letter.fingerprint,
                },
            )

    def _facts(self, applied: Applied) -> dict[str, Any]:
        shown = self._shown_as(applied.job.pipeline)
        return facts(applied, breaker=self._breaker_of(applied.job), shown=shown)

    def _facts_of_begun(self, job: Job, word: str) -> dict[str, Any]:
        return {
            "event": word,
            "job_id": job.id,
            "pipeline": job.pipeline,
            "stage": job.stage,
            "status": job.state.value,
            "attempt": job.attempt,
            "duration_ms": None,
            "error_code": None,
            "gateway_status": None,
            "breaker": self._breaker_of(job),
            "worker": job.holder,
        }


def facts(
    applied: Applied, *, breaker: str | None = None, shown: Presentation = PLAIN
) -> dict[str, Any]:
    """Return the fields of a log line about an applied decision.

    A field of which there is nothing to say is there all the same, and empty.
    """
    entry, change = applied.decision.entry, applied.decision.change
    known: dict[str, Any] = {
        "event": shown.words.get(entry.kind, entry.kind.value),
        "job_id": applied.job.id,
        "pipeline": applied.job.pipeline,
        "stage": entry.stage,
        "status": change.state.value,
        "attempt": entry.attempt,
        "duration_ms": duration_ms(entry),
        "error_code": None,
        "error_class": None,
        "gateway_status": entry.http_status,
        "breaker": breaker,
        **shown.facts(entry),
    }
    context = read(applied.job.trace)
    if context is not None:
        known["trace_id"] = context.trace_id
    if entry.detail is not None:
        known["detail"] = json.loads(entry.detail)
    return known
