"""All routes of collabiq."""

from __future__ import annotations

from fastapi import APIRouter

from collabiq.collabiq import Collabiq
from collabiq.http.dead_letters import dead_letter_routes
from collabiq.http.emails import email_routes
from collabiq.http.notifications import notification_routes
from collabiq.http.operations import operation_routes
from collabiq.http.plain.routes import plain_pages
from collabiq.http.stream import stream_routes


def routes_of(collabiq: Collabiq) -> APIRouter:
    """Return the routes of collabiq, under `/api`."""
    parts = (
        email_routes,
        stream_routes,
        dead_letter_routes,
        operation_routes,
        notification_routes,
        plain_pages,
    )
    # Taken as they are: including them would make each of them again.
    return APIRouter(routes=[route for routes in parts for route in routes(collabiq).routes])
