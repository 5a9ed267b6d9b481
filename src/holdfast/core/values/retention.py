"""How long what has ended is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import InvalidPolicy

DAY_S: Final = 86_400.0
MAX_SECONDS: Final = 36_525 * DAY_S
"""A hundred years; what is longer is without end."""
PLAN_S: Final = 30 * DAY_S
"""A plan that no job uses goes when no process has asked for it for so long."""
PLAN_SAVED_AGAIN_S: Final = DAY_S
"""A process that makes jobs asks for their plan again after so long at the latest."""

NOTHING: Final = Instant(-1)
"""A cutoff that nothing lies before."""


class Cutoffs(NamedTuple):
    """Instants: what ended, or was closed, then or before may go."""

    complete: Instant
    cancelled: Instant
    failed: Instant
    audit: Instant
    replays: Instant
    deliveries: Instant
    messages: Instant
    inbox: Instant
    figures: Instant
    keys: Instant
    plans: Instant
    now: Instant
    """When all this is worked out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long to keep what has ended, in seconds; None keeps it forever.

    A job goes with its history, its checkpoints and its dead letter, in one commit. A job whose
    dead letter is not resolved is kept whatever this says, and so is the first job of a key while
    a rerun of it is there. The key of a job outlives it, unless its pipeline says otherwise.
    """

    complete: float | None = 7 * DAY_S
    """Since the job completed."""
    cancelled: float | None = 7 * DAY_S
    """Since the job was cancelled."""
    failed: float | None = 30 * DAY_S
    """Since the dead letter of the job was resolved; of a job that was refused, since it was."""
    audit: float | None = 365 * DAY_S
    """Since a person did what the audit log has."""
    replays: float | None = 90 * DAY_S
    """Since the replay ended."""
    deliveries: float | None = 90 * DAY_S
    """Since the delivery was sent or failed, and never while its job is there.

    For so long a recipient is not notified again, by any job, about the same subject and version.
    """
    messages: float | None = 7 * DAY_S
    """Since the message was published. One that waits, or was given up, is kept."""
    inbox: float | None = 30 * DAY_S
    """Since a message from outside was handled: for so long it is known when it comes again."""
    figures: float | None = 30 * DAY_S
    """Since the minute that they tell of."""
    keys: float | None = None
    """Since the job of the key was removed: for so long the same key makes no second job, and no
    lower version is accepted."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))

    def cutoffs(self, now: Instant) -> Cutoffs:
        """Return what may go at `now`."""
        return Cutoffs(
            complete=_before(now, self.complete),
            cancelled=_before(now, self.cancelled),
            failed=_before(now, self.failed),
            audit=_before(now, self.audit),
            replays=_before(now, self.replays),
            deliveries=_before(now, self.deliveries),
            messages=_before(now, self.messages),
            inbox=_before(now, self.inbox),
            figures=_before(now, self.figures),
            keys=_before(now, self.keys),
            plans=_before(now, PLAN_S),
            now=now,
        )


def longest(wanted: Iterable[Retention]) -> Retention:
    """Return a retention that keeps everything for as long as any of these does."""
    given = list(wanted)
    kept: dict[str, float | None] = {}
    for field in fields(Retention):
        spans = [getattr(each, field.name) for each in given]
        kept[field.name] = None if None in spans else max(spans)
    return Retention(**kept)


def _before(now: Instant, keep_s: float | None) -> Instant:
    if keep_s is None:
        return NOTHING
    return max(Instant(now - int(keep_s * SECOND_US)), NOTHING)


def _check(name: str, value: object) -> None:
    if value is None:
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= MAX_SECONDS
    ):
        limit = f"a number of seconds from 0 to {MAX_SECONDS:.0f}, or None for ever"
        raise InvalidPolicy("Retention", field=name, value=value, limit=limit)
