"""How main and its surroundings are, for operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from grading.main import rows
from grading.main.pipeline import SUBMISSION
from grading.main.views.view import time_text
from grading.messages.contract import DLQ, REQUEST
from grading.states import FailureReason
from grading.tables.times import day_start, from_us, to_us
from holdfast import Holdfast, JobFilter, JobState
from holdfast.dead_letters import LetterFilter, LetterState

GRADE_PIPELINES: Final = ("grade", "grade-speaking")
UPSTREAMS: Final = ("grading-llm", "grading-stt")
IN_DOUBT_AFTER_S: Final = 900.0
"""A call that was not answered for so long may have been charged for nothing."""
MAX_COUNTED: Final = 1_000
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """How main and its surroundings are."""

    outbox_pending: int
    outbox_oldest_s: float | None
    broker_connected: bool | None
    """None without a broker."""
    grader_last_seen_at: str | None
    breakers: list[dict[str, Any]] = field(default_factory=list)
    timed_out_today: int = 0
    late_today: int = 0
    dlq_open: int = 0
    calls_in_doubt: int = 0
    cost_today_usd: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return the shape of the API."""
        return {
            "outbox": {"pending": self.outbox_pending, "oldestSeconds": self.outbox_oldest_s},
            "broker": {"connected": self.broker_connected},
            "grader": {"lastSeenAt": self.grader_last_seen_at},
            "breakers": self.breakers,
            "timedOutToday": self.timed_out_today,
            "lateToday": self.late_today,
            "dlqOpen": self.dlq_open,
            "callsInDoubt": self.calls_in_doubt,
            "costTodayUsd": self.cost_today_usd,
        }


def operations_of(app: Holdfast, *, broker_connected: bool | None = None) -> Operations:
    """Return the figures as they are now."""
    standing = app.outbox.standing()
    oldest = standing.oldest_pending_at
    now = from_us(app.clock.now())
    since = day_start(now)
    ended = app.jobs(
        JobFilter(
            (JobState.FAILED,),
            SUBMISSION,
            error_class=FailureReason.TIMEOUT.value,
            created_since=to_us(since - _DAY),  # type: ignore[arg-type]
        ),
        limit=500,
    )
    timed_out = [job for job in ended if job.finished_at is not None and job.finished_at >= since]
    with app.reading() as db:
        seen = rows.last_seen(db, rows.GRADER)
        doubt = db.row(
            "select count(*) as n from grading.answer where answered_at_us is null"
            " and called_at_us < :before_us",
            {"before_us": to_us(now - timedelta(seconds=IN_DOUBT_AFTER_S))},
        )
        spent = db.row(
            "select coalesce(sum(usd), 0) as usd from grading.answer where called_at_us >= :since",
            {"since": to_us(since)},
        )
        scored = db.row(
            "select coalesce(sum(usd), 0) as usd from grading.score"
            " where completed_at_us >= :since",
            {"since": to_us(since)},
        )
    return Operations(
        outbox_pending=standing.pending,
        outbox_oldest_s=None if oldest is None else max((app.clock.now() - oldest) / 1e6, 0.0),
        broker_connected=broker_connected,
        grader_last_seen_at=time_text(seen),
        breakers=_breakers(app),
        timed_out_today=len(timed_out),
        late_today=sum(job.late_result is not None for job in timed_out),
        dlq_open=_open_letters(app),
        calls_in_doubt=doubt["n"] if doubt else 0,
        cost_today_usd=round(
            max(float(spent["usd"]) if spent else 0.0, float(scored["usd"]) if scored else 0.0), 6
        ),
    )


def _breakers(app: Holdfast) -> list[dict[str, Any]]:
    return [
        {"name": view.name, "state": view.gate.value, "reason": view.reason}
        for view in app.upstreams.list()
        if view.name in UPSTREAMS
    ]


def _open_letters(app: Holdfast) -> int:
    total = 0
    for pipeline in (*GRADE_PIPELINES, REQUEST, DLQ):
        wanted = LetterFilter(states=(LetterState.OPEN,), pipeline=pipeline)
        total += len(app.dead.find(wanted, limit=MAX_COUNTED))
    return total
