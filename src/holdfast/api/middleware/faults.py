"""Unexpected errors: logged here in full, and shown outside by their request's id only."""

from __future__ import annotations

import logging
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.problems import Problem, answer

LOGGER: Final = logging.getLogger("holdfast.api")


class Faults:
    """Answers for an application that raised."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; whatever it raises becomes a problem without a word about why."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        except ClientDisconnect:
            return
        except Exception as error:
            log_fault(scope, error)
            if begun:
                # Half an answer must not pass for a whole one: the server cuts the connection.
                raise
            response = answer(Request(scope), internal_error())
            await response(scope, receive, send)


def internal_error() -> Problem:
    """Return the problem that stands for whatever went wrong here."""
    return Problem(
        "internal_error",
        "this is not your fault; try again, and if it stays, give an operator the request_id",
    )


def log_fault(scope: Scope, error: Exception) -> None:
    """Log an exception, with the id that its request's client was given."""
    request_id = (scope.get("state") or {}).get("request_id", "")
    facts = {"event": "request_failed", "request_id": request_id, "method": scope["method"]}
    LOGGER.error("request %s raised", request_id, exc_info=error, extra=facts)
