"""The list of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from holdfast.console.rendering.rendering import LOOK, Console
from holdfast.console.requests.counting import Counted, counted
from holdfast.console.requests.job_query import (
    HELD,
    INPUTS,
    SPANS,
    JobQuery,
    job_query,
    retry_obstacle,
)
from holdfast.console.requests.tabs import Tab
from holdfast.console.requests.visit import Visit
from holdfast.core.job.job import JobState
from holdfast.errors import UsageError
from holdfast.store.contract import JobFilter
from holdfast.views.job import JobView

PAGE: Final = 50
_STATES: Final = (("All", None), *((state.value.capitalize(), state.value) for state in JobState))


def add_to(console: Console) -> None:
    """Route to the list."""
    console.page("/jobs", LOOK, lambda visit: jobs(console, visit))


def jobs(console: Console, visit: Visit) -> Response:
    """Return matching jobs, newest first."""
    engine, trouble = console.engine, None
    query = JobQuery(JobFilter(owner=visit.owner), "")
    found: list[JobView] = []
    total = Counted(0)
    try:
        query = job_query(visit, engine.clock.now())
        if not query.matches_nothing:
            find = engine.jobs if query.label is None else engine.held_jobs
            found = find(query.wanted, before=visit.asked("before"), limit=PAGE + 1)
            total = _total(console, visit, query, found)
    except UsageError as error:
        trouble = str(error)
    shown = engine.labelled(found[:PAGE])
    return console.render(
        visit,
        "jobs.html",
        screen="jobs",
        status=200 if trouble is None else 422,
        **job_rows(console, visit, shown),
        total=str(total),
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
        tabs=_tabs(visit),
        label=query.label,
        next_href=visit.href(before=shown[-1].id) if len(found) > PAGE else None,
        first_href=visit.href(before=None) if visit.asked("before") else None,
        trouble=trouble,
        retry_obstacle=retry_obstacle(engine, query),
    )


def job_rows(console: Console, visit: Visit, found: Sequence[JobView]) -> dict[str, Any]:
    """Return what rows of jobs are made of: the jobs, and the codes of those that failed."""
    shown = console.shown_to(visit)
    errors = {view.id: shown.public_error(view) for view in found}
    return {
        "jobs": [shown.job(view) for view in found],
        "codes": {job_id: each.error_code for job_id, each in errors.items() if each is not None},
    }


def _tabs(visit: Visit) -> list[Tab]:
    """Return links to the jobs of a state, and to those that their upstream holds."""
    held = visit.asked("label") == HELD
    states = [
        Tab(name, visit.href(state=value, label=None, before=None), not held and current)
        for name, value, current in (
            (name, value, visit.asked("state") == value) for name, value in _STATES
        )
    ]
    return [*states, Tab("Held", visit.href(label=HELD, state=None, before=None), held)]


def _total(console: Console, visit: Visit, query: JobQuery, found: list[JobView]) -> Counted:
    """Return how many match, on whichever page this is; a first page that is all of it says so."""
    if len(found) <= PAGE and visit.asked("before") is None:
        return Counted(len(found))
    if query.label is not None:
        return Counted(len(found) - 1, more=True)
    return counted(console.engine, query.wanted, seen=len(found))


def _offers(console: Console, name: str) -> list[str]:
    pipelines = console.engine.pipelines
    if name == "pipeline":
        return sorted(pipelines)
    if name == "queue":
        return sorted({pipeline.queue for pipeline in pipelines.values()})
    return []
