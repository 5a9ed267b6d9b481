"""Figures of grading for Prometheus, and what needs a person in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from grading.main import rows
from grading.main.operating.operations import operations_of
from grading.main.pipeline import SUBMISSION
from grading.states import Step
from grading.tables.times import from_us, to_us
from holdfast import Holdfast, JobFilter, JobState
from holdfast.systems import Figure, Need

SILENT_AFTER: Final = timedelta(minutes=5)
"""A submission waits so long without any sign of a grader before a person is needed."""
OVERDUE_AFTER: Final = timedelta(minutes=2)
"""A result arrives within this time of the notice that its scores are computed."""
MAX_LOOKED_AT: Final = 500


def figures(app: Holdfast) -> Iterable[Figure]:
    """Return the figures of grading."""
    now = operations_of(app)
    reviews = _reviews(app)
    silent = _silence(app)
    return [
        Figure(
            "grading_grader_silent_seconds",
            "How long no grader has called back while submissions wait",
            "gauge",
            0.0 if silent is None else silent.total_seconds(),
        ),
        Figure(
            "grading_callbacks_overdue",
            "Submissions that were scored and whose results do not arrive",
            "gauge",
            len(_overdue(app)),
        ),
        Figure(
            "grading_outbox_oldest_seconds",
            "Age of the oldest message that is not published",
            "gauge",
            now.outbox_oldest_s or 0.0,
        ),
        Figure(
            "grading_calls_in_doubt",
            "Paid calls that were begun and of which nothing came back",
            "gauge",
            now.calls_in_doubt,
        ),
        Figure("grading_cost_today_usd", "Cost of paid calls today", "gauge", now.cost_today_usd),
        Figure("grading_timed_out_today", "Submissions timed out", "gauge", now.timed_out_today),
        Figure("grading_late_today", "Results that came too late", "gauge", now.late_today),
        Figure("grading_dlq_open", "Dead letters that wait for a person", "gauge", now.dlq_open),
        Figure("grading_reviews_due", "Results that wait for a teacher", "gauge", reviews.due),
        Figure(
            "grading_reviews_oldest_seconds",
            "How long the oldest result has waited for a teacher",
            "gauge",
            0.0 if reviews.since is None else _age(app, reviews.since).total_seconds(),
        ),
    ]


def needs(app: Holdfast) -> Iterable[Need]:
    """Return what needs a person: reviews, graders that are not seen, results that are lost."""
    found: list[Need] = []
    reviews, overdue, silent = _reviews(app), _overdue(app), _silence(app)
    if reviews.due:
        found.append(
            Need(
                subject="grading: reviews",
                sentence=f"{_results(reviews.due)} for a teacher.",
                advice="Review them, the most urgent first.",
                label="Review",
                path="/grading/#review",
                count=reviews.due,
                since=reviews.since,
            )
        )
    if silent is not None and silent > SILENT_AFTER:
        found.append(
            Need(
                subject="grading: grader",
                sentence="Submissions wait, and no grader was seen.",
                advice="Start grading service and its workers, and look at the broker.",
                label="Look at operations",
                path="/grading/#operations",
                since=from_us(app.clock.now()) - silent,
            )
        )
    if overdue:
        found.append(
            Need(
                subject="grading: results",
                sentence=f"{_submissions(len(overdue))} scored, and the results do not arrive.",
                advice="See whether the grader's outbox is published and its callbacks consumed.",
                label="Look at operations",
                path="/grading/#operations",
                count=len(overdue),
                since=min(overdue),
            )
        )
    return found


class _Reviews(NamedTuple):
    """How many results wait for a teacher, and since when."""

    due: int
    since: datetime | None


def _reviews(app: Holdfast) -> _Reviews:
    with app.reading() as db:
        row = db.row(
            "select count(*) as n, min(created_at_us) as at_us from grading.review"
            " where final is null"
        )
    if row is None or not row["n"]:
        return _Reviews(0, None)
    return _Reviews(row["n"], from_us(row["at_us"]))


def _silence(app: Holdfast) -> timedelta | None:
    """Return for how long no grader was seen although a submission waits; None where none does."""
    waiting = app.jobs(JobFilter((JobState.WAITING,), SUBMISSION), limit=1)
    if not waiting:
        return None
    with app.reading() as db:
        seen = rows.last_seen(db, rows.GRADER)
    since = waiting[0].created_at if seen is None else max(seen, waiting[0].created_at)
    return _age(app, since)


def _overdue(app: Holdfast) -> list[datetime]:
    """Return when submissions were scored whose results should have arrived since."""
    before = from_us(app.clock.now()) - OVERDUE_AFTER
    wanted = JobFilter(
        (JobState.WAITING,),
        SUBMISSION,
        created_until=to_us(before),  # type: ignore[arg-type]
    )
    waiting = [job.id for job in app.jobs(wanted, limit=MAX_LOOKED_AT)]
    with app.reading() as db:
        known = rows.read_progress(db, waiting)
    scored = (row.progress for row in known.values() if row.progress.step is Step.SCORING)
    times = (from_us(progress.at_us) for progress in scored)
    return [at for at in times if at < before]


def _age(app: Holdfast, since: datetime) -> timedelta:
    return max(from_us(app.clock.now()) - since, timedelta())


def _results(count: int) -> str:
    return "1 result waits" if count == 1 else f"{count} results wait"


def _submissions(count: int) -> str:
    return "1 submission was" if count == 1 else f"{count} submissions were"
