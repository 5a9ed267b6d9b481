"""Adds the console to an API."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI

from holdfast.console.pages import login, overview, trouble
from holdfast.console.pages.dead_letters import groups, letter, letters, replay, runbook
from holdfast.console.pages.jobs import job, job_bulk, jobs, queues, search
from holdfast.console.pages.operations import audit, deliveries, outbox, upstreams, workers
from holdfast.console.rendering.rendering import Console
from holdfast.console.rendering.screens import Screen
from holdfast.console.rendering.static_files import static_router
from holdfast.engine.app import Holdfast


def mount_console(
    api: FastAPI, app: Holdfast, *, more: Sequence[Screen] = (), trace_url: str | None = None
) -> None:
    """Serve the console beside the API that `create_api` made of the same application.

    `more` are screens of others that the navigation leads to as well. `trace_url` is where traces
    are looked at, with `{trace_id}` in place of the id of one.
    """
    console = Console(app, more=more, trace_url=trace_url)
    for pages in (
        overview,
        search,
        jobs,
        job_bulk,
        job,
        queues,
        workers,
        groups,
        letters,
        letter,
        replay,
        upstreams,
        deliveries,
        outbox,
        audit,
        runbook,
    ):
        pages.add_to(console)
    # Included, each of its routes would be built a second time.
    api.router.routes.extend(console.router.routes)
    api.include_router(login.router(console))
    api.include_router(static_router())
    api.state.problem_page = trouble.page_for(console)
