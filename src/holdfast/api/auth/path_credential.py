"""Routes whose path holds the credential: who has the link may do one thing, and nothing else.

A route says so with a parameter made by `path_credential`, in place of a role, and its path has the
place `{token}`. No cookie, header or address counts there. What stands in that place is a secret:
`shown_path` is what may be logged or shown of such a path.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Path
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.requests import Request
from starlette.routing import BaseRoute

PLACE: Final = "{token}"
_HIDDEN: Final = "hidden"
_DESCRIPTION: Final = "The credential: it was made for this one thing. Keep it out of logs."

Check = Callable[[Request, str], Awaitable[None]]
"""Raises a problem unless a token is good; it is asked before anything of the body is read."""


class PathCredential(NamedTuple):
    """What opens a route in place of a role."""

    check: Check


def path_credential(check: Check) -> Callable[..., Any]:
    """Return a dependency that is the token in the path of a route, which opens the route."""

    async def token_of(token: Annotated[str, Path(description=_DESCRIPTION)]) -> str:
        return token

    token_of.path_credential = PathCredential(check)  # type: ignore[attr-defined]
    token_of.never_waits = True  # type: ignore[attr-defined]
    return token_of


def path_credential_of(route: APIRoute) -> PathCredential | None:
    """Return what opens a route by its path, None when nothing does."""
    for dependency in route.dependant.dependencies:
        found = getattr(dependency.call, "path_credential", None)
        if isinstance(found, PathCredential):
            return found
    return None


def secret_beginnings(routes: Iterable[BaseRoute]) -> tuple[str, ...]:
    """Return what the paths begin with whose rest is a credential."""
    return tuple(
        {
            (context.path or "").partition(PLACE)[0]
            for context in iter_route_contexts(list(routes))
            if isinstance(route := context.original_route, APIRoute)
            and path_credential_of(route) is not None
        }
    )


def shown_path(scope: Mapping[str, Any]) -> str:
    """Return the path of a request as it may be logged or shown: without a credential in it."""
    path, root = str(scope.get("path", "")), str(scope.get("root_path", ""))
    state = getattr(scope.get("app"), "state", None)
    for beginning in getattr(state, "secret_beginnings", ()):
        if path.removeprefix(root).startswith(beginning):
            return f"{root if path.startswith(root) else ''}{beginning}{_HIDDEN}"
    return path
