"""`/api/jobs`: submit jobs, read them, send them back, end them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import Header, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import (
    OwnerOrOperator,
    Reader,
    ReaderOrAnonymous,
    Submitter,
    guarded_router,
    shown_to,
)
from holdfast.api.auth.owners import owner_for
from holdfast.api.auth.principal import Principal
from holdfast.api.models.jobs import (
    JobAttempt,
    JobAttempts,
    JobDocument,
    JobEvent,
    JobEvents,
    JobListQuery,
    JobPage,
    JobResults,
    JobSubmission,
    JobSummary,
    RetryRequest,
    WaitingDocument,
)
from holdfast.api.models.values.acting import Reasoned
from holdfast.api.requests.paging import bad_cursor, cursor_of, link_next, text_position
from holdfast.api.serving import Engine
from holdfast.core.job.job import DEFAULT_OWNER, JobState
from holdfast.core.values.role import Role
from holdfast.engine.app import Holdfast
from holdfast.engine.submit.submission import MAX_KEY_LENGTH
from holdfast.errors import UnknownJob
from holdfast.runtime import tracing
from holdfast.secrecy import redacted_value, without_names
from holdfast.store.contract import JobFilter
from holdfast.views.job import JobView

ROUTER: Final = guarded_router("jobs")
CURSOR: Final = "jobs"
REPLAYED: Final = "Idempotency-Replayed"
_LEAST_QUOTED: Final = 2

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY_LENGTH + _LEAST_QUOTED,
        description="Makes the submission safe to repeat: the same key and body name the same job.",
    ),
]
_LOCATION: Final = {
    "Location": {"description": "Where the job is.", "schema": {"type": "string"}},
}


@ROUTER.post(
    "",
    status_code=201,
    responses={
        201: {"description": "A new job.", "headers": _LOCATION},
        200: {
            "description": "The job that the key names already.",
            "model": JobDocument,
            "headers": {
                **_LOCATION,
                REPLAYED: {"description": "`true`.", "schema": {"type": "string"}},
            },
        },
    },
)
def submit_job(
    body: JobSubmission,
    request: Request,
    response: Response,
    *,
    who: Submitter,
    engine: Engine,
    key: Key = None,
) -> JobDocument:
    """Make a job, or find the one that the key already names, also one that was removed."""
    options = body.options() | {
        "key": plain_key(key),
        "owner": owner_for(who, body.owner) or DEFAULT_OWNER,
        "trace": tracing.received(request.headers),
    }
    handle = engine.submit(engine.access.open_pipeline(body.pipeline), **options)
    view = handle.get()
    if view.removed_at is None:
        response.headers["Location"] = f"{request.scope.get('root_path', '')}/api/jobs/{handle.id}"
    if not handle.created:
        response.status_code = 200
        response.headers[REPLAYED] = "true"
    return _document(view, engine, who)


@ROUTER.get("")
def list_jobs(
    wanted: Annotated[JobListQuery, Query()],
    request: Request,
    response: Response,
    who: Reader,
    engine: Engine,
) -> JobPage:
    """List jobs, newest first."""
    matching = scoped(wanted.filter(), who)
    page = page_of(
        engine.jobs if wanted.label is None else engine.held_jobs,
        matching,
        before=text_position(CURSOR, wanted.cursor),
        limit=wanted.limit,
    )
    cursor = cursor_of(CURSOR, page[-1].id) if len(page) == wanted.limit else None
    link_next(request, response, cursor)
    shown = shown_to(who, engine)
    items = [JobSummary.of(view, shown) for view in engine.labelled(page)]
    return JobPage(items=items, next_cursor=cursor)


@ROUTER.get("/{job_id}")
def get_job(job_id: str, who: ReaderOrAnonymous, engine: Engine) -> JobDocument:
    """Read a job with its payload, and its result or its error."""
    (view,) = engine.labelled([engine.job(job_id, owner=who.owner)])
    document = _document(view, engine, who)
    # Queues, upstreams and workers are no business of those whose jobs they carry.
    if who.owner is not None:
        return document
    history = engine.history(job_id) if view.label == "retrying" else ()
    waiting = engine.waits.of(view, history, recent=True)
    if waiting:
        document.waiting = WaitingDocument(**waiting[0].to_document())
    return document


@ROUTER.get("/{job_id}/events")
def list_job_events(job_id: str, who: ReaderOrAnonymous, engine: Engine) -> JobEvents:
    """Tell all that happened to a job, oldest first."""
    lines = shown_to(who, engine).history(engine.history(job_id, owner=who.owner))
    return JobEvents(items=[JobEvent.of(line) for line in lines])


@ROUTER.get("/{job_id}/attempts")
def list_job_attempts(job_id: str, who: ReaderOrAnonymous, engine: Engine) -> JobAttempts:
    """Tell every attempt at a job's stages, oldest first, also the one under way."""
    lines = shown_to(who, engine).attempts(engine.attempts(job_id, owner=who.owner))
    return JobAttempts(items=[JobAttempt.of(line) for line in lines])


@ROUTER.get("/{job_id}/results")
def get_job_results(job_id: str, who: Reader, engine: Engine) -> JobResults:
    """Tell what the finished stages of a job's current run returned."""
    view = engine.job(job_id, owner=who.owner)
    found = without_names(engine.results(job_id, owner=who.owner), engine.secret_names(view.job))
    return JobResults(results=redacted_value(found))


@ROUTER.post("/{job_id}/retry")
def retry_job(
    job_id: str, who: OwnerOrOperator, engine: Engine, body: RetryRequest | None = None
) -> JobDocument:
    """Send a failed job back to the stage that failed, or to the start, with a new budget."""
    asked = body or RetryRequest()
    view = engine.retry(
        job_id,
        by=who.name,
        reason=asked.reason,
        from_start=asked.from_start,
        owner=who.owner,
        operator=who.role.may(Role.OPERATOR),
    )
    return _document(view, engine, who)


@ROUTER.post("/{job_id}/cancel")
def cancel_job(
    job_id: str, who: OwnerOrOperator, engine: Engine, body: Reasoned | None = None
) -> JobDocument:
    """End a job that has not ended; what its handler may still return is refused."""
    reason = None if body is None else body.reason
    view = engine.cancel(job_id, by=who.name, reason=reason, owner=who.owner)
    return _document(view, engine, who)


def scoped(matching: JobFilter, who: Principal) -> JobFilter:
    """Return the filter with the owner that the principal may ask about."""
    return matching._replace(owner=owner_for(who, matching.owner))


def page_of(
    find: Callable[..., list[JobView]], matching: JobFilter, *, before: str | None, limit: int
) -> list[JobView]:
    """Return the jobs below a position that a client sent."""
    try:
        return find(matching, before=before, limit=limit)
    except UnknownJob:
        raise bad_cursor() from None


def _document(view: JobView, engine: Holdfast, who: Principal) -> JobDocument:
    keeps = view.state is JobState.FAILED and engine.keeps_personal_data(view.job)
    names = engine.secret_names(view.job)
    return JobDocument.of(view, shown_to(who, engine), keeps=keeps, without=names)


def plain_key(given: str | None) -> str | None:
    """Return the key, which may stand in quotes as structured headers have it."""
    if given is not None and len(given) > _LEAST_QUOTED and given[0] == given[-1] == '"':
        return given[1:-1]
    return given
