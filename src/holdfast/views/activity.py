"""How much happened, minute by minute, as people and programs outside the engine read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.store.tables.activity import ActivityCount


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """How often something happened to jobs of a stage in a minute, of all owners."""

    minute: Instant
    """When the minute began."""
    pipeline: str
    stage: str
    event: str
    """What happened, as the history of a job calls it: `completed`, `failed`, …; or `submitted`, or
    `late_result` for a result that came after the deadline and was kept, or `refused_attempt` for
    an attempt that ended by its sender's mistake."""
    error_class: str | None
    """Why, where an attempt failed."""
    count: int
    duration_us: int
    """How long the attempts that ended so took together."""

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "minute": to_rfc3339(self.minute),
            "pipeline": self.pipeline,
            "stage": self.stage,
            "event": self.event,
            "error_class": self.error_class,
            "count": self.count,
            "duration_ms": round(self.duration_us / 1000, 3),
        }


def activity_row(counted: ActivityCount) -> ActivityRow:
    """Return a counter of the store as people read it."""
    return ActivityRow(
        minute=counted.minute,
        pipeline=counted.pipeline,
        stage=counted.stage,
        event=counted.kind,
        error_class=counted.error_class or None,
        count=counted.times,
        duration_us=counted.duration_us,
    )
