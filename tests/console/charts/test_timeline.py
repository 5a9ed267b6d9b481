"""Bars over time, with the times below them."""

import re
from itertools import pairwise

import pytest

from holdfast.console.charts import charts, timeline
from holdfast.core.values.instant import Instant

MINUTE_US = timeline.MINUTE_US
NOON = Instant(
    1_800_000_000_000_000 - 1_800_000_000_000_000 % timeline.DAY_US + timeline.DAY_US // 2
)


@pytest.mark.parametrize("minutes", [0, 1, 30, 90, 24 * 60, 30 * 24 * 60, 400 * 24 * 60])
def test_spans_cover_what_they_are_made_for_and_are_neither_few_nor_many(minutes):
    first, last = NOON, Instant(NOON + minutes * MINUTE_US)

    starts, step_us = timeline.spans(first, last)

    assert starts[0] <= first
    assert starts[-1] <= last < starts[-1] + step_us
    assert 24 <= len(starts) <= 49
    assert {later - earlier for earlier, later in pairwise(starts)} == {step_us}


def test_the_last_hour_ends_with_this_minute():
    minutes = timeline.last_hour(Instant(NOON + 30_000_000))

    assert (len(minutes), minutes[-1]) == (60, NOON)


@pytest.mark.parametrize(
    ("minutes", "written"), [(60, r">\d\d:\d\d<"), (3 * 24 * 60, r">\d\d [A-Z][a-z]{2}<")]
)
def test_times_are_written_below_some_bars_and_in_full_in_each(minutes, written):
    starts, _ = timeline.spans(NOON, Instant(NOON + minutes * MINUTE_US))
    series = (charts.Series("failed", "bad"),)

    picture = timeline.bars(starts, [(1,)] * len(starts), series, label="all of them")

    assert 3 <= len(re.findall(written, picture)) <= 9
    assert len(re.findall(r"UTC: 1 failed</title>", picture)) == len(starts)
