"""The routes of all plain pages."""

from __future__ import annotations

from fastapi import APIRouter

from collabiq.collabiq import Collabiq
from collabiq.http.plain.mails import add_mail_pages
from collabiq.http.plain.operations import add_operation_pages
from collabiq.http.plain.rendering import plain_router


def plain_pages(collabiq: Collabiq) -> APIRouter:
    """Return the routes of the plain pages."""
    routes = plain_router()
    add_mail_pages(routes, collabiq)
    add_operation_pages(routes, collabiq)
    return routes
