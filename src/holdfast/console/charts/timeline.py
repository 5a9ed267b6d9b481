"""Bars over time: which spans they stand for, and the times that are written below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from holdfast.console.charts import charts
from holdfast.core.values.instant import SECOND_US, Instant, to_datetime

MINUTE_US: Final = 60 * SECOND_US
HOUR_S: Final = 3_600.0
DAY_US: Final = 24 * 3_600 * SECOND_US
LABELS: Final = 6
"""How many times are written below the bars."""
_STEPS_US: Final = tuple(
    minutes * MINUTE_US for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1440)
)
_MAX_BARS: Final = 48
_LEAST_BARS: Final = 24
LOW: Final = 130
"""How high bars are that only show when something was."""


def last_hour(now: Instant) -> list[Instant]:
    """Return when the minutes of the last hour began, this one last."""
    last = now - now % MINUTE_US
    return [Instant(last - ago * MINUTE_US) for ago in reversed(range(60))]


def spans(first: Instant, last: Instant) -> tuple[list[Instant], int]:
    """Return when spans of one round length begin that cover both instants, and that length.

    There are never so few that a moment looks like all there is.
    """
    days = (last - first) // (_MAX_BARS * DAY_US) + 1
    fitting = (step for step in _STEPS_US if (last - first) // step < _MAX_BARS)
    step = next(fitting, days * DAY_US)
    end = last - last % step
    start = min(first - first % step, end - (_LEAST_BARS - 1) * step)
    return [Instant(at) for at in range(start, last + 1, step)], step


def bars(
    starts: Sequence[Instant],
    values: Sequence[tuple[int, ...]],
    series: Sequence[charts.Series],
    *,
    label: str,
    height: int = charts.HEIGHT,
) -> Markup:
    """Return stacked bars, one for each span, with times in UTC below some of them."""
    over_days = bool(starts) and starts[-1] - starts[0] >= DAY_US
    every = max(len(starts) // LABELS, 1)
    columns = []
    for index, (start, counts) in enumerate(zip(starts, values, strict=True)):
        moment = to_datetime(start)
        time = moment.strftime("%d %b" if over_days else "%H:%M")
        said = ", ".join(f"{count} {each.name}" for count, each in zip(counts, series, strict=True))
        title = f"{moment:%Y-%m-%d %H:%M} UTC: {said}"
        columns.append(charts.Column(time if index % every == every // 2 else "", title, counts))
    return charts.bars(columns, series, label=label, height=height)
