"""All routes of grading."""

from __future__ import annotations

from fastapi import APIRouter

from grading.http.audio import audio_routes
from grading.http.dead_requests import dead_request_routes
from grading.http.operations import operation_routes
from grading.http.plain import plain_pages
from grading.http.questions import progress_routes, question_routes
from grading.http.reviews import review_routes
from grading.http.serving import Served
from grading.http.stream import stream_routes
from grading.http.submissions import submission_routes


def routes_of(served: Served) -> APIRouter:
    """Return the routes of grading, under `/api`."""
    parts = (
        submission_routes,
        stream_routes,
        audio_routes,
        question_routes,
        progress_routes,
        review_routes,
        operation_routes,
        dead_request_routes,
        plain_pages,
    )
    # Taken as they are: including them would make each of them again.
    return APIRouter(routes=[route for routes in parts for route in routes(served).routes])
