"""`POST /api/jobs/cancel` and `/retry`: one action for every job that matches, in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdfast.api.access import Operator, guarded_router
from holdfast.api.models.jobs import BulkAction, BulkCancel, BulkOutcome, BulkRetry, JobSelection
from holdfast.api.problems import Flaw, Problem
from holdfast.api.requests.paging import bad_cursor, cursor_of, text_position
from holdfast.api.routes.jobs import scoped
from holdfast.api.serving import Engine
from holdfast.core.job.access import RetryBy
from holdfast.core.job.job import ACTIVE, JobState
from holdfast.engine.app import Holdfast
from holdfast.engine.jobs.changes import Chunk
from holdfast.engine.jobs.jobs import MAX_COUNTED
from holdfast.errors import UnknownJob
from holdfast.store.contract import JobFilter

ROUTER: Final = guarded_router("jobs")
CURSOR: Final = "bulk"
MANY: Final = 100
"""More jobs than this are ended only with their number given."""

Part = Callable[[JobFilter, str | None], Chunk]


@ROUTER.post("/cancel")
def cancel_jobs(body: BulkCancel, who: Operator, engine: Engine) -> BulkOutcome:
    """End every matching job that has not ended, newest first, a part with each request."""
    states = tuple(state for state in JobState if state in ACTIVE)

    def part(matching: JobFilter, before: str | None) -> Chunk:
        return engine.cancel_many(
            matching, by=who.name, reason=body.reason, before=before, limit=body.limit
        )

    matching = scoped(_checked(body, "cancel", states), who)
    _check_count(engine, body, matching)
    return _done(engine, body, matching, action="cancel", part=part)


@ROUTER.post("/retry")
def retry_jobs(body: BulkRetry, who: Operator, engine: Engine) -> BulkOutcome:
    """Send every matching job back that has failed, newest first, a part with each request."""

    def part(matching: JobFilter, before: str | None) -> Chunk:
        return engine.retry_many(
            matching,
            by=who.name,
            reason=body.reason,
            from_start=body.from_start,
            before=before,
            limit=body.limit,
        )

    failed = (JobState.FAILED,)
    matching = scoped(_checked(body, "retry", failed, everything=body.everything), who)
    if matching.pipeline is not None:
        engine.access.check_retry(matching.pipeline, RetryBy.OPERATOR)
    return _done(engine, body, matching, action="retry", part=part)


def _checked(
    body: BulkAction, action: str, states: tuple[JobState, ...], *, everything: bool = False
) -> JobFilter:
    """Return the filter, narrowed to the states that allow the action."""
    if body.filter == JobSelection() and not everything:
        either = ", or set everything to true" if isinstance(body, BulkRetry) else ""
        raise Problem(
            "invalid_request",
            "name at least one thing that the jobs have in common",
            errors=[Flaw("/filter", f"is empty; narrow it{either}")],
        )
    outside = [state.value for state in body.filter.state if state not in states]
    if outside:
        allowed = " or ".join(states)
        raise Problem(
            "invalid_request",
            f"jobs that are {' or '.join(outside)} do not allow {action}; ask for {allowed} jobs",
            errors=[Flaw("/filter/state", f"must be {allowed}")],
        )
    matching = body.filter.filter()
    return matching._replace(states=matching.states or states)


def _check_count(engine: Holdfast, body: BulkCancel, matching: JobFilter) -> None:
    """Refuse to end many jobs where their number is not given."""
    if body.dry_run or body.cursor is not None:
        return
    count = engine.count(matching)
    if body.expected_count == count or (body.expected_count is None and count <= MANY):
        return
    more = " or more" if count == MAX_COUNTED else ""
    raise Problem(
        "invalid_request",
        f"this would end {count}{more} jobs; to do it, say so in expected_count",
        errors=[Flaw("/expected_count", f"must be {count}, the number of jobs that match")],
    )


def _done(
    engine: Holdfast, body: BulkAction, matching: JobFilter, *, action: str, part: Part
) -> BulkOutcome:
    if body.dry_run:
        count = engine.count(matching)
        return BulkOutcome(
            action=action,
            dry_run=True,
            matched=count,
            at_least=count == MAX_COUNTED,
            changed=0,
            refused={},
            next_cursor=None,
        )
    try:
        chunk = part(matching, text_position(CURSOR, body.cursor))
    except UnknownJob:
        raise bad_cursor() from None
    # From the newest on downwards: jobs that are made meanwhile are not met.
    cursor = None if chunk.before is None else cursor_of(CURSOR, chunk.before)
    return BulkOutcome(
        action=action,
        dry_run=False,
        matched=chunk.matched,
        at_least=cursor is not None,
        changed=chunk.changed,
        refused=dict(chunk.refused),
        next_cursor=cursor,
    )
