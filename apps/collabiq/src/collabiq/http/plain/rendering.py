"""How plain pages are made: templates, the frame around them, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from collabiq.collabiq import Collabiq
from collabiq.refusals import Refused
from holdfast.api.access import GuardedRoute, Principal, Role, guarded_router

NOUN: Final = "email-pages"
_SEE_OTHER: Final = 303
_FAIRLY_SURE: Final = 0.6
_UNSURE: Final = re.compile(r"the confidence of (person|startup|partner|details|date) is ([\d.]+)$")
_PARTS: Final = {
    "person": "the person",
    "startup": "the start-up",
    "partner": "the partner",
    "details": "the details",
    "date": "the date",
}
_PAGES: Final = Environment(
    loader=PackageLoader("collabiq.http.plain", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class PlainRoute(GuardedRoute):
    """A guarded route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with refusals as pages."""
        handle = super().get_route_handler()

        async def refusing(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                return page(request, "refused.html", refused.status, refused=refused)

        return refusing


def plain_router() -> APIRouter:
    """Return a router for plain pages, all of whose routes demand a role."""
    router = guarded_router(NOUN)
    router.route_class = PlainRoute
    return router


def page(request: Request, name: str, status: int = 200, **shown: Any) -> Response:  # noqa: ANN401 - as templates take it
    """Return a template with what it shows."""
    text = _PAGES.get_template(name).render(place=_place(request), root=_root(request), **shown)
    return HTMLResponse(text, status)


def framed(
    request: Request,
    name: str,
    collabiq: Collabiq,
    who: Principal,
    *,
    status: int = 200,
    **shown: Any,  # noqa: ANN401 - as templates take it
) -> Response:
    """Return a page with the tabs, and what only a person can mend, above it."""
    found = collabiq.status(owner=who.owner)
    return page(
        request,
        name,
        status,
        health=found,
        sees_all=who.owner is None,
        may_send=who.role.may(Role.SUBMITTER),
        may_act=who.role.may(Role.OPERATOR),
        **shown,
    )


def to_page(request: Request, *path: str) -> Response:
    """Send the browser on to a plain page, once a form has done its work."""
    return RedirectResponse("/".join([_place(request), *path]), _SEE_OTHER)


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", ""))


def _place(request: Request) -> str:
    return f"{_root(request)}/api/{NOUN}"


def _minute(value: str) -> str:
    return datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M UTC")


def _sentence(value: object) -> str:
    text = str(value)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{round(value * 100)} %"


def _sure(value: float | None, threshold: float) -> str:
    if value is None:
        return "unknown"
    if value >= threshold:
        return "sure"
    return "fairly sure" if value >= _FAIRLY_SURE else "unsure"


def _reasons(review: Sequence[str]) -> list[str]:
    """Return why a person should look, with fields that are not sure in one sentence."""
    unsure = [found for each in review if (found := _UNSURE.match(each))]
    others = [_sentence(each) for each in review if not _UNSURE.match(each)]
    if not unsure:
        return others
    named = ", ".join(
        f"{_PARTS[part]} ({_percent(float(value))})"
        for part, value in (found.groups() for found in unsure)
    )
    return [*others, f"Not sure enough of {named}."]


_PAGES.filters |= {
    "reasons": _reasons,
    "minute": _minute,
    "percent": _percent,
    "sentence": _sentence,
    "sure": _sure,
}
