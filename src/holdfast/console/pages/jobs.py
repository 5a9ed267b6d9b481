"""The list of jobs."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from holdfast.console.job_query import INPUTS, SPANS, JobQuery, job_query
from holdfast.console.rendering import LOOK, Console
from holdfast.console.tabs import tabs
from holdfast.console.visit import Visit
from holdfast.console.words import plural
from holdfast.core.job import JobState
from holdfast.errors import UsageError
from holdfast.store.contract import JobFilter
from holdfast.view import JobView

PAGE: Final = 50
MOST_COUNTED: Final = 10_000
_STATES: Final = (("All", None), *((state.value.capitalize(), state.value) for state in JobState))


def add_to(console: Console) -> None:
    """Route to the list."""
    console.page("/jobs", LOOK, lambda visit: jobs(console, visit))


def jobs(console: Console, visit: Visit) -> Response:
    """Return matching jobs, newest first."""
    engine, trouble = console.engine, None
    query = JobQuery(JobFilter(owner=visit.owner), "")
    found: list[JobView] = []
    total = 0
    try:
        query = job_query(visit, engine.clock.now())
        if not query.matches_nothing:
            found = engine.jobs(query.wanted, before=visit.asked("before"), limit=PAGE + 1)
            total = engine.count(query.wanted, at_most=MOST_COUNTED)
    except UsageError as error:
        trouble = str(error)
    shown = found[:PAGE]
    return console.render(
        visit,
        "jobs.html",
        screen="jobs",
        status=200 if trouble is None else 422,
        jobs=shown,
        total=counted(total),
        filtered=query.filtered,
        states=[state.value for state in query.wanted.states],
        inputs=[
            (name, label, visit.asked(name) or "", _offers(console, name))
            for name, label in INPUTS
            if name != "owner" or visit.owner is None
        ],
        spans=SPANS,
        within=query.within,
        query=query.pairs(),
        tabs=tabs(visit, "state", _STATES),
        next_href=visit.href(before=shown[-1].id) if len(found) > PAGE else None,
        first_href=visit.href(before=None) if visit.asked("before") else None,
        trouble=trouble,
    )


def counted(total: int) -> str:
    """Return how many match, as far as they are counted."""
    return f"More than {total:,} jobs" if total >= MOST_COUNTED else plural(total, "job")


def _offers(console: Console, name: str) -> list[str]:
    pipelines = console.engine.pipelines
    if name == "pipeline":
        return sorted(pipelines)
    if name == "queue":
        return sorted({pipeline.queue for pipeline in pipelines.values()})
    return []
