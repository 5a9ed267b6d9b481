"""Which entries a job has left in a folder of dead letters, by its history.

A job that is sent back and fails again at the same stage is the same entry; one that gets past the
stage and fails at a later one is another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from holdfast.core.job.decision import Entry, Kind
from holdfast.core.values.instant import Instant

_DEATHS: Final = frozenset({Kind.FAILED, Kind.EXPIRED})


class Episode(NamedTuple):
    """From the first failure at a stage to the last, with replays between them."""

    stage: str
    began_at: Instant
    deaths: int = 1
    ended_at: Instant | None = None
    """When a replay got past the stage; None while none has."""


def episodes(history: Iterable[Entry]) -> list[Episode]:
    """Return what a job's history has of them, oldest first."""
    found: list[Episode] = []
    failing: tuple[str, Instant] | None = None
    for entry in history:
        last = found[-1] if found else None
        if (
            last is not None
            and last.ended_at is None
            and entry.kind
            in (
                Kind.ADVANCED,
                Kind.COMPLETED,
            )
        ):
            found[-1] = last._replace(ended_at=entry.at)
        if entry.kind in (Kind.ADVANCED, Kind.REVIVED):
            failing = None
        if entry.error_class is None:
            continue
        if failing is None or failing[0] != entry.stage:
            failing = (entry.stage, entry.at)
        if entry.kind not in _DEATHS:
            continue
        if last is None or last.ended_at is not None or last.stage != entry.stage:
            found.append(Episode(*failing))
        else:
            found[-1] = last._replace(deaths=last.deaths + 1)
    return found
