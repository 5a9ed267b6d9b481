"""The depth of queues over the last hour, of which nothing is recorded but what came and went."""

import re

import pytest

from holdfast.console.charts.depth import depth, reckoned_back
from holdfast.core.values.instant import Instant
from holdfast.testing import drain
from holdfast.views.activity import ActivityRow
from tests.console.site import Site

MINUTE_US = 60_000_000
MINUTES = [Instant(number * MINUTE_US) for number in range(4)]


def row(minute: int, event: str, count: int) -> ActivityRow:
    return ActivityRow(Instant(minute * MINUTE_US), "p", "one", event, None, count, 0)


def test_what_came_is_taken_away_and_what_went_is_added_going_back():
    activity = [row(1, "submitted", 5), row(2, "completed", 3), row(3, "submitted", 1)]

    assert reckoned_back(4, activity, MINUTES) == [1, 6, 3, 4]


@pytest.mark.parametrize("event", ["completed", "failed", "expired", "cancelled"])
def test_a_job_that_ended_was_there_before(event):
    assert reckoned_back(0, [row(3, event, 2)], MINUTES) == [2, 2, 2, 0]


@pytest.mark.parametrize("event", ["retried", "advanced", "held", "late", "snoozed"])
def test_what_leaves_a_job_where_it_is_changes_nothing(event):
    assert reckoned_back(2, [row(3, event, 7)], MINUTES) == [2, 2, 2, 2]


def test_a_job_that_was_sent_back_was_not_there_before():
    assert reckoned_back(1, [row(3, "revived", 1)], MINUTES) == [0, 0, 0, 1]


def test_counts_that_were_lost_make_no_negative_depth():
    assert reckoned_back(0, [row(3, "submitted", 2)], MINUTES) == [0, 0, 0, 0]


def test_the_most_and_when_it_was_are_said_in_words():
    told = depth([], [row(2, "completed", 9)], MINUTES, counted_since=MINUTES[0])

    assert told.says == (
        "0 jobs have not ended; in the last hour there were at most 9, at 00:00 UTC."
    )
    assert f'aria-label="{told.says}"' in told.picture


def test_nothing_is_drawn_before_the_first_figure():
    shown = depth([], [row(3, "completed", 9)], MINUTES, counted_since=MINUTES[2])

    assert "at most 9, at 00:02" in shown.says
    xs = [float(x) for x in re.findall(r"([\d.]+),[\d.]+", shown.picture.split("polyline")[1])]
    assert xs == [480.0, 720.0]


def test_the_overview_shows_how_deep_the_queues_were(site: Site):
    for n in range(3):
        site.app.submit("p", {"n": n})
    site.clock.advance(120)
    drain(site.app)
    site.app.submit("p", {"n": 4})

    page = site.local().get("/").text

    assert "1 job has not ended; in the last hour there were at most 3" in page


def test_a_quiet_hour_is_said_without_figures():
    assert depth([], [], MINUTES, counted_since=None).says == (
        "No job was left waiting at the end of any minute of the last hour."
    )
