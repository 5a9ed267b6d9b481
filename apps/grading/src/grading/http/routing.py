"""Routes of grading: guarded like all of the API, with grading's own codes for what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from grading.refusals import Conflict, Refused, ValidationRefused
from holdfast.api.access import GuardedRoute, guarded_router
from holdfast.api.problems import Flaw, Kind, Problem

Responses = dict[int | str, dict[str, Any]]
"""What a route may answer, for the description of the API."""
VALIDATION_ERROR: Final = "VALIDATION_ERROR"
_TITLES: Final[Mapping[str, str]] = {
    VALIDATION_ERROR: "The request does not fit",
    "AUDIO_REFUSED": "The recording is not accepted",
    "AUDIO_TOO_LARGE": "The recording is too large",
    "NOT_AUDIO": "The file is not a recording",
    "AUDIO_UNCHECKED": "The recording cannot be checked now",
    "RATE_LIMITED": "Too many submissions in a minute",
    "QUOTA_REACHED": "Too many submissions are under way",
    "FORBIDDEN": "It is not yours",
    "CONFLICT": "It conflicts with what is stored",
    "wrong_state": "Its state does not allow this",
    "callback_refused": "The callback token is not good",
}


class GradingRoute(GuardedRoute):
    """A guarded route whose refusals are problems with grading's codes."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with refusals as problems."""
        handle = super().get_route_handler()

        async def refusing(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise problem_of_validation(error.errors()) from None
            except Refused as refused:
                raise problem_of(refused) from None

        return refusing


def grading_router(noun: str) -> APIRouter:
    """Return a router for `/api/<noun>`, all of whose routes demand a role."""
    router = guarded_router(noun)
    router.route_class = GradingRoute
    return router


def problem_of(refused: Refused) -> Problem:
    """Return a refusal as the problem that a request ends with."""
    headers: dict[str, str] = {}
    facts: dict[str, Any] = {}
    flaws: Sequence[Flaw] = ()
    if refused.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(refused.retry_after_s)))
    if isinstance(refused, ValidationRefused):
        flaws = [Flaw(flaw.pointer, flaw.message) for flaw in refused.flaws]
    elif refused.field is not None:
        flaws = [Flaw(refused.field, refused.message)]
    if isinstance(refused, Conflict) and refused.held_by is not None:
        facts["heldBy"] = refused.held_by
    kind = Kind(refused.status, _TITLES.get(refused.code, "It is refused"))
    return Problem(refused.code, refused.message, kind=kind, errors=flaws, headers=headers, **facts)


def problem_of_validation(found: Sequence[Any]) -> Problem:
    """Return what a request fails to be, place by place, without what was sent."""
    flaws = [Flaw(_pointer_of(flaw), _message(flaw)) for flaw in found]
    places = ", ".join(flaw.pointer or "the body" for flaw in flaws[:3])
    return Problem(
        VALIDATION_ERROR,
        f"correct {places}; see errors",
        kind=Kind(400, _TITLES[VALIDATION_ERROR]),
        errors=flaws,
    )


def _pointer_of(flaw: Mapping[str, Any]) -> str:
    """Return where a flaw is; of a body that is no JSON that is the body, not a character of it."""
    return "" if flaw["type"] == "json_invalid" else _pointer(flaw["loc"])


def _pointer(place: Sequence[str | int]) -> str:
    where, *rest = place
    named = [part for part in rest if not str(part).startswith("(")]
    kept = named if where == "body" else [where, *named]
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in kept)


def _message(flaw: Mapping[str, Any]) -> str:
    match flaw["type"]:
        case "json_invalid":
            return f"is not JSON from character {flaw['loc'][-1]} on"
        case "extra_forbidden":
            return "is not known here; leave it out"
        case _:
            return str(flaw["msg"])
