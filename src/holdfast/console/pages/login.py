"""Signing in with a token, and out again."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.api.auth.sign_in import sign_in, sign_out
from holdfast.api.problems import Problem
from holdfast.console.rendering.rendering import Console, form_of

_SEE_OTHER: Final = 303
_UNAUTHORIZED: Final = 401
_CONTROL: Final = 0x20
Form = Annotated[dict[str, str], Depends(form_of)]


def router(console: Console) -> APIRouter:
    """Return the routes, which have to be open to people who are not known yet."""
    made = APIRouter(include_in_schema=False)

    async def show(request: Request) -> Response:
        following = local_path(request.query_params.get("next"))
        return sign_in_page(console, request, following=following)

    async def enter(request: Request, form: Form) -> Response:
        following = local_path(form.get("next"))
        base = str(request.scope.get("root_path", "")).rstrip("/")
        response = RedirectResponse(base + following, _SEE_OTHER)
        try:
            await sign_in(request, response, form.get("token", "").strip())
        except Problem as problem:
            if problem.code != "credentials_refused":
                raise
            trouble = "That token is unknown, or was revoked. Ask an operator for another one."
            return sign_in_page(console, request, following=following, trouble=trouble)
        return response

    async def leave(request: Request) -> Response:
        base = str(request.scope.get("root_path", "")).rstrip("/")
        response = RedirectResponse(f"{base}/login", _SEE_OTHER)
        await sign_out(request, response)  # refuses a form that another site sent
        return response

    for path, method, endpoint in (
        ("/login", "GET", show),
        ("/login", "POST", enter),
        ("/logout", "POST", leave),
    ):
        made.add_api_route(
            path, endpoint, methods=[method], response_class=Response, response_model=None
        )
    return made


def sign_in_page(
    console: Console, request: Request, *, following: str, trouble: str | None = None
) -> Response:
    """Return the form for a token; afterwards `following` is shown."""
    status = 200 if trouble is None else _UNAUTHORIZED
    return console.bare(request, "login.html", status=status, next=following, trouble=trouble)


def local_path(given: str | None) -> str:
    """Return a path of this console to go on with; the overview instead of anything else."""
    if (
        given is None
        or not given.startswith("/")
        or given.startswith(("//", "/\\", "/login", "/logout"))
        or any(ord(character) <= _CONTROL or character == "\\" for character in given)
    ):
        return "/"
    return given
