"""Figures of grading for Prometheus, and what needs a person in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from grading.main import rows
from grading.main.operations import operations_of
from grading.main.pipeline import SUBMISSION
from grading.tables.times import from_us
from holdfast import Holdfast, JobFilter, JobState
from holdfast.systems import Figure, Need

SILENT_AFTER: Final = timedelta(minutes=5)
"""A submission waits so long without any sign of a grader before a person is needed."""


def figures(app: Holdfast) -> Iterable[Figure]:
    """Return the figures of grading."""
    now = operations_of(app)
    with app.transaction() as tx:
        due = tx.row("select count(*) as n from grading.review where final is null")
    return [
        Figure(
            "grading_calls_in_doubt_total",
            "Paid calls that were begun and of which nothing came back",
            "gauge",
            now.calls_in_doubt,
        ),
        Figure("grading_cost_today_usd", "Cost of paid calls today", "gauge", now.cost_today_usd),
        Figure("grading_timed_out_today", "Submissions timed out", "gauge", now.timed_out_today),
        Figure("grading_late_today", "Results that came too late", "gauge", now.late_today),
        Figure("grading_dlq_open", "Dead letters that wait for a person", "gauge", now.dlq_open),
        Figure(
            "grading_reviews_due",
            "Results that wait for a teacher",
            "gauge",
            due["n"] if due else 0,
        ),
    ]


def needs(app: Holdfast) -> Iterable[Need]:
    """Return what needs a person: reviews that are due, and graders that are not seen."""
    found: list[Need] = []
    now = from_us(app.clock.now())
    with app.transaction() as tx:
        due = tx.row(
            "select count(*) as n, min(created_at_us) as at_us from grading.review"
            " where final is null"
        )
        seen = rows.last_seen(tx, rows.GRADER)
    if due is not None and due["n"]:
        found.append(
            Need(
                subject="grading: reviews",
                sentence=f"{due['n']} results wait for a teacher.",
                advice="Review them, the most urgent first.",
                label="Review",
                path="/grading/#review",
                count=due["n"],
                since=from_us(due["at_us"]),
            )
        )
    waiting = app.jobs(JobFilter((JobState.WAITING,), SUBMISSION), limit=1)
    if waiting and (seen is None or now - seen > SILENT_AFTER):
        since = waiting[0].created_at
        if now - since > SILENT_AFTER:
            found.append(
                Need(
                    subject="grading: grader",
                    sentence="Submissions wait, and no grader was seen.",
                    advice="Start grading service and its workers, and look at the broker.",
                    label="Look at operations",
                    path="/grading/#operations",
                    since=since,
                )
            )
    return found
