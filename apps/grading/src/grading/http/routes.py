"""All routes of grading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import APIRouter

from grading.audio import AudioStore
from grading.http.audio import audio_routes
from grading.http.dead_requests import dead_request_routes
from grading.http.operations import operation_routes
from grading.http.plain import plain_pages
from grading.http.questions import progress_routes, question_routes
from grading.http.reviews import review_routes
from grading.http.serving import Served
from grading.http.stream import stream_routes
from grading.http.submissions import submission_routes
from grading.main.side import MainSide
from grading.tables.times import from_us
from holdfast import Holdfast
from holdfast.classify import PublicCode

BODY_LIMITS: Final = {"/api/audio": 2**40}
"""For `Parts(body_limits=…)`: recordings have a limit and a refusal of their own."""
NOT_YOURS: Final = PublicCode(
    message="there is nothing of yours here", http_status=403, code="FORBIDDEN"
)
"""For `Parts(not_yours=…)`: routes of jobs refuse in the words of `grading.refusals.NotYours`."""


def routes_of(served: Served) -> APIRouter:
    """Return the routes of grading, under `/api`."""
    router = APIRouter()
    for routes in (
        submission_routes,
        stream_routes,
        audio_routes,
        question_routes,
        progress_routes,
        review_routes,
        operation_routes,
        dead_request_routes,
        plain_pages,
    ):
        router.include_router(routes(served))
    return router


def served_by(side: MainSide, app: Holdfast) -> Served:
    """Return what the routes go by, of a main side that is bound to this application."""
    config = side.config
    return Served(
        app,
        side.submissions(),
        side.callbacks,
        side.questions,
        AudioStore(config.audio_dir, config.audio_max_bytes, config.audio_max_s),
        side.recordings,
        now=lambda: from_us(app.clock.now()),
        max_audio_bytes=config.audio_max_bytes,
        max_audio_s=config.audio_max_s,
        reviews=config.review_below > 0,
    )


def router_of(side: MainSide) -> Callable[[Holdfast], APIRouter]:
    """Return what makes the routes, for `Parts(router=…)`; the side is bound by then."""
    return lambda app: routes_of(served_by(side, app))
