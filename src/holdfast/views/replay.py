"""Replays as people and programs outside the engine read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.core.dead_letter.dead_letter import DeadLetter
from holdfast.core.dead_letter.replay import ENDED, Counts, Replay, ReplayState
from holdfast.core.values.instant import SECOND_US, to_rfc3339


class Preview(NamedTuple):
    """What a replay would do."""

    letters: int
    """How many match."""
    ready: int
    """How many of them would be sent."""
    pipelines: Mapping[str, int]
    stages: Mapping[str, int]
    error_classes: Mapping[str, int]
    skipped: Mapping[str, int]
    """Why others would not be, and how many for each reason."""
    first: tuple[DeadLetter, ...]
    """The first few that would be sent: the oldest."""

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            **self._asdict(),
            "first": [
                {
                    "id": letter.id,
                    "pipeline": letter.pipeline,
                    "stage": letter.stage,
                    "error_class": letter.error_class,
                    "message": letter.message,
                    "last_failure_at": to_rfc3339(letter.last_failure_at),
                }
                for letter in self.first
            ],
        }


@dataclass(frozen=True, slots=True)
class ReplayView:
    """A replay and its letters as they stood when they were read."""

    replay: Replay
    counts: Counts

    @property
    def id(self) -> str:
        """The replay's id."""
        return self.replay.id

    @property
    def state(self) -> ReplayState:
        """How far it has come."""
        return self.replay.state

    @property
    def ended(self) -> bool:
        """Whether nothing more will be sent."""
        return self.replay.state in ENDED

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        replay = self.replay
        return {
            "id": replay.id,
            "name": replay.name,
            "state": replay.state.value,
            "asked_by": replay.asked_by,
            "owner": replay.owner,
            "reason": replay.reason,
            "note": replay.note,
            "created_at": to_rfc3339(replay.created_at),
            "updated_at": to_rfc3339(replay.updated_at),
            "from_start": replay.from_start,
            "canary": replay.canary,
            "rate": SECOND_US / replay.every_us if replay.every_us else None,
            "stop_after": replay.stop_after or None,
            "letters": self.counts.total,
            "counts": self.counts._asdict(),
        }
