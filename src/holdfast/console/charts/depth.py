"""How many jobs had not ended, minute by minute, reckoned back from how many there are now.

Nothing records the depth of queues over time. What was submitted, sent back and ended is counted
by the minute, and what is there now is known; the rest follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from holdfast.console.charts import charts
from holdfast.core.job.decision import Kind
from holdfast.core.values.instant import Instant, to_datetime
from holdfast.runtime.maintenance.activity import SUBMITTED
from holdfast.store.contract import QueueCounts
from holdfast.views.activity import ActivityRow

WIDTH: Final = 720
HEIGHT: Final = 56
_CAME: Final = frozenset({SUBMITTED, Kind.REVIVED.value})
_WENT: Final = frozenset(
    kind.value for kind in (Kind.COMPLETED, Kind.FAILED, Kind.EXPIRED, Kind.REFUSED, Kind.CANCELLED)
)


class Depth(NamedTuple):
    """How the depth of all queues went, in a picture and in words."""

    picture: Markup
    says: str


def depth(
    queues: Sequence[QueueCounts],
    activity: Iterable[ActivityRow],
    minutes: Sequence[Instant],
    *,
    counted_since: Instant | None,
) -> Depth:
    """Return how many jobs had not ended at the end of each of those minutes, the latest last.

    Of the minutes before the first figure nothing is known, and nothing is drawn.
    """
    here = sum(each.active for each in queues)
    first = minutes[-1] if counted_since is None else counted_since
    before = min(sum(minute < first for minute in minutes), len(minutes) - 1)
    minutes = minutes[before:]
    values = reckoned_back(here, activity, minutes)
    most = max(values)
    at = to_datetime(minutes[values.index(most)]).strftime("%H:%M")
    open_jobs = f"{here} job has" if here == 1 else f"{here} jobs have"
    says = f"{open_jobs} not ended; in the last hour there were at most {most}, at {at} UTC."
    if not most:
        says = "No job was left waiting at the end of any minute of the last hour."
    picture = charts.sparkline(values, label=says, width=WIDTH, height=HEIGHT, before=before)
    return Depth(picture, says)


def reckoned_back(
    here: int, activity: Iterable[ActivityRow], minutes: Sequence[Instant]
) -> list[int]:
    """Return the depth at the end of each minute, given what it is in the last one."""
    grown: Counter[int] = Counter()
    for row in activity:
        grown[row.minute] += row.count * ((row.event in _CAME) - (row.event in _WENT))
    values = [here]
    for minute in reversed(minutes[1:]):
        # Processes add their counts late, and the counts of one that was killed are lost.
        values.append(max(values[-1] - grown[minute], 0))
    return values[::-1]
