"""The console put together: what pages are set in, and how actions are asked and done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Final, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from holdfast.api.access import GuardedRoute, needs, shown_to
from holdfast.api.auth.admission import Needs
from holdfast.api.auth.authenticator import Visitor
from holdfast.api.auth.principal import Role
from holdfast.api.auth.visitors import csrf_token_of
from holdfast.api.error_problems import problem_of
from holdfast.console.rendering import filters
from holdfast.console.rendering.said import said
from holdfast.console.rendering.screens import Screen, navigation_for
from holdfast.console.rendering.static_files import static_contents
from holdfast.console.rendering.traces import Traces
from holdfast.console.requests.ask import Action, Ask, Field
from holdfast.console.requests.visit import LONGEST_FIELD, Visit
from holdfast.engine.app import Holdfast
from holdfast.errors import ConflictError, HoldfastError, InvalidValue, UsageError
from holdfast.views.disclosure import Disclosure

Page = Callable[[Visit], Response]
LOOK: Final = Needs(Role.READER)
LOOK_AT_ALL: Final = Needs(Role.READER, every_owner=True)
ACT: Final = Needs(Role.OPERATOR)
ACT_ON_ALL: Final = Needs(Role.OPERATOR, every_owner=True)
_NOT_FOUND: Final = 404
_SEE_OTHER: Final = 303


class Console:
    """Renders pages, and routes to those who make them."""

    def __init__(
        self, engine: Holdfast, *, more: Sequence[Screen] = (), trace_url: str | None = None
    ) -> None:
        self.engine = engine
        self.more = tuple(more)
        self.traces = Traces(trace_url)
        self.router = APIRouter(route_class=GuardedRoute, include_in_schema=False)
        self._templates = _templates()
        self._version = _version()

    def shown_to(self, visit: Visit) -> Disclosure:
        """Return what a visitor may see of failures and of what is done about them."""
        return shown_to(visit.who, self.engine)

    def page(self, path: str, demanded: Needs, make: Page) -> None:
        """Serve a page to those who may look at it."""

        def look(request: Request) -> Response:
            return make(visit_of(request))

        self._add(path, "GET", demanded, look)

    def action(self, path: str, demanded: Needs, action: Action) -> None:
        """Ask at that path before something is done, and do it when the answer is sent there."""

        def ask(request: Request) -> Response:
            visit = visit_of(request)
            return self._asked(visit, action.ask(visit))

        def do(request: Request, form: FormGiven) -> Response:
            return self._do(visit_of(request, form), action)

        self._add(path, "GET", demanded, ask)
        self._add(path, "POST", demanded, do)

    def render(
        self,
        visit: Visit,
        template: str,
        *,
        screen: str,
        status: int = 200,
        **context: Any,  # noqa: ANN401 - whatever the template shows
    ) -> Response:
        """Return a page in the frame that all pages have."""
        done = said(visit.query.get("done"), visit.query.get("count"))
        return self._html(
            template,
            status,
            {
                "base": visit.base,
                "principal": visit.who,
                "operator": visit.operator,
                "csrf": visit.csrf,
                "can_leave": bool(visit.csrf),
                "screen": screen,
                "navigation": navigation_for(visit.who, self.more),
                "now": self.engine.clock.now(),
                "said": done,
                **context,
            },
        )

    def bare(
        self,
        request: Request,
        template: str,
        *,
        status: int,
        **context: Any,  # noqa: ANN401 - whatever the template shows
    ) -> Response:
        """Return a page for a visitor who is not known."""
        base = str(request.scope.get("root_path", "")).rstrip("/")
        return self._html(template, status, {"base": base, **context})

    def _html(self, template: str, status: int, context: Mapping[str, Any]) -> Response:
        text = self._templates.get_template(template).render(version=self._version, **context)
        return HTMLResponse(text, status)

    def _asked(
        self, visit: Visit, ask: Ask, *, trouble: str | None = None, status: int = 200
    ) -> Response:
        return self.render(
            visit,
            "ask.html",
            screen="",
            status=status,
            title=ask.title,
            touches=ask.touches,
            verb=ask.verb,
            back=visit.base + ask.back,
            sentences=ask.sentences,
            notes=ask.notes,
            fields=[_filled(each, visit) for each in ask.fields],
            hidden=ask.hidden,
            dangerous=ask.dangerous,
            blocked=ask.blocked,
            action=visit.href(),
            trouble=trouble,
        )

    def _do(self, visit: Visit, action: Action) -> Response:
        try:
            done = action.do(visit)
        except (ConflictError, UsageError) as error:
            problem = problem_of(error)
            if problem is None or problem.kind.status == _NOT_FOUND:
                raise
            return self._again(visit, action, error, problem.kind.status)
        pairs = {"done": done.word}
        if done.many is not None:
            pairs["count"] = str(done.many)
        joint = "&" if "?" in done.path else "?"
        where = f"{visit.base}{done.path}{joint}{urlencode(pairs)}"
        return RedirectResponse(where, _SEE_OTHER)

    def _again(self, visit: Visit, action: Action, error: HoldfastError, status: int) -> Response:
        """Ask once more, with what stood in the way and with what was filled in."""
        ask = action.ask(visit)
        return self._asked(visit, ask, trouble=_told(error), status=status)

    def _add(
        self, path: str, method: str, demanded: Needs, endpoint: Callable[..., Response]
    ) -> None:
        self.router.add_api_route(
            path,
            endpoint,
            methods=[method],
            name=f"console {method.lower()} {path}",
            dependencies=[
                Depends(needs(demanded.role, every_owner=demanded.every_owner)),
                Depends(_repeatable),
                Depends(_plain),
            ],
            response_class=HTMLResponse,
            response_model=None,
        )


async def _repeatable(state: Annotated[list[str] | None, Query()] = None) -> None:
    """Say which parameter of a page may be given more than once: any of these states will do."""
    del state


async def _plain(request: Request) -> None:
    """Refuse an address that no database can look for."""
    asked = (*request.path_params.values(), *request.query_params.values())
    if any("\0" in str(text) for text in asked):
        raise InvalidValue("page", field="address", value="a NUL", limit="an address without it")


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    given: FormData = await request.form(max_files=0, max_fields=60)
    return {name: value[:LONGEST_FIELD] for name, value in given.items() if isinstance(value, str)}


FormGiven = Annotated[dict[str, str], Depends(form_of)]


def visit_of(request: Request, form: Mapping[str, str] | None = None) -> Visit:
    """Return the visit of a visitor who was let in."""
    visitor = cast("Visitor", request.state.visitor)
    csrf = csrf_token_of(request, visitor) or ""
    return Visit(request, visitor.principal, csrf, form or {})


def _filled(field: Field, visit: Visit) -> Field:
    """Return a field with what was written into it before, if the form was sent."""
    if not visit.form:
        return field
    if field.kind == "check":
        return replace(field, value=visit.ticked(field.name))
    return replace(field, value=visit.form.get(field.name, field.value))


def _told(error: HoldfastError) -> str:
    if isinstance(error, InvalidValue) and error.owner == "form":
        return f"Fill in the {error.field}: it has to be {error.limit}."
    return str(error)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("holdfast.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters.install(made)
    return made


@cache
def _version() -> str:
    """Return what changes with every change of the static files, so that browsers keep them."""
    digest = hashlib.sha256()
    for _, content in sorted(static_contents().items()):
        digest.update(content)
    return digest.hexdigest()[:12]
