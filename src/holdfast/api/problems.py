"""What an error looks like over HTTP: RFC 9457 problem details with a stable `code`.

`KINDS` is the one table of codes; `docs/reference/http-api.md` lists them with what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from fastapi.encoders import jsonable_encoder
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.api.auth.path_credential import shown_path
from holdfast.secrecy import redacted

MEDIA_TYPE: Final = "application/problem+json"
_PATH: Final = "/:@!$&'()*+,;=~"
"""What a path may hold as it is, besides letters, digits and `_.-`."""


_PAGES_OF_API: Final = frozenset({"/api", "/api/", "/api/reference"})
"""What people look at although it is the API's."""


class Kind(NamedTuple):
    """A kind of problem: its status and its title, which never change for a code."""

    status: int
    title: str


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "malformed_request": Kind(400, "The request is not HTTP as it should be"),
        "malformed_body": Kind(400, "The body is not JSON"),
        "invalid_cursor": Kind(400, "The cursor is not one of this list"),
        "credentials_missing": Kind(401, "Credentials are needed"),
        "credentials_refused": Kind(401, "The credentials are not good"),
        "role_missing": Kind(403, "Your role does not allow this"),
        "scope_missing": Kind(403, "This concerns every owner, and you are one owner's"),
        "owner_refused": Kind(403, "That owner is not yours"),
        "csrf_refused": Kind(403, "The form did not come from this console"),
        "pipeline_closed": Kind(403, "The pipeline takes jobs from its own system only"),
        "callback_refused": Kind(403, "The callback token is not good"),
        "not_found": Kind(404, "There is nothing here"),
        "job_not_found": Kind(404, "There is no such job"),
        "dead_letter_not_found": Kind(404, "There is no such dead letter"),
        "replay_not_found": Kind(404, "There is no such replay"),
        "upstream_not_found": Kind(404, "There is no such upstream"),
        "delivery_not_found": Kind(404, "There is no such delivery"),
        "message_not_found": Kind(404, "There is no such message"),
        "token_not_found": Kind(404, "There is no such token"),
        "worker_not_found": Kind(404, "There is no such worker"),
        "method_not_allowed": Kind(405, "This cannot be done here"),
        "body_too_slow": Kind(408, "The body took too long"),
        "callback_over": Kind(409, "The stage does not wait any more"),
        "conflict": Kind(409, "It has changed since it was read"),
        "version_conflict": Kind(409, "A rerun needs a higher version"),
        "wrong_state": Kind(409, "Its state does not allow this"),
        "retry_refused": Kind(409, "Retrying it would be no use"),
        "retry_not_allowed": Kind(409, "Its failed jobs are sent back another way"),
        "step_missing": Kind(409, "Something has to be done first"),
        "body_too_large": Kind(413, "The body is too large"),
        "unsupported_media_type": Kind(415, "The body has to be JSON"),
        "host_refused": Kind(421, "It is not served under that name"),
        "invalid_request": Kind(422, "The request does not fit"),
        "invalid_value": Kind(422, "A value lies outside its limits"),
        "invalid_document": Kind(422, "A document is not acceptable"),
        "key_conflict": Kind(422, "The idempotency key belongs to another body"),
        "pipeline_unknown": Kind(422, "There is no such pipeline"),
        "provider_unknown": Kind(422, "There is no such provider"),
        "too_many_streams": Kind(429, "Too many event streams are open"),
        "head_too_large": Kind(431, "The head of the request is too large"),
        "internal_error": Kind(500, "Something went wrong here"),
        "unavailable": Kind(503, "It cannot be done now"),
        "draining": Kind(503, "This process is about to end"),
        "too_many_connections": Kind(503, "Too many connections are open"),
        "queue_full": Kind(503, "The queue is full"),
        "store_unavailable": Kind(503, "The database cannot be reached"),
        "store_damaged": Kind(503, "The database is damaged"),
        "store_not_ready": Kind(503, "The database is not at the schema that is needed"),
        "read_too_slow": Kind(503, "It took the database too long"),
        "circuit_open": Kind(503, "The upstream is not called now"),
    }
)

RETRY_AFTER_S: Final = 5
"""What `Retry-After` says where nobody knows better."""


class Flaw(NamedTuple):
    """Something wrong with one place of a request; `pointer` says which, as in RFC 6901."""

    pointer: str
    message: str


class Problem(Exception):
    """Raised by a route: the request ends with this problem.

    A system's own codes come with their `kind`.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        kind: Kind | None = None,
        errors: Sequence[Flaw] = (),
        headers: Mapping[str, str] | None = None,
        **facts: Any,  # noqa: ANN401 - JSON of any shape
    ) -> None:
        self.code, self.detail = code, detail
        self.kind = kind or KINDS[code]
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.facts = facts
        super().__init__(detail)


def document_of(problem: Problem, *, instance: str, request_id: str, root: str) -> dict[str, Any]:
    """Return the problem as JSON values, without secrets."""
    document: dict[str, Any] = {
        "type": type_of(problem.code, root),
        "title": problem.kind.title,
        "status": problem.kind.status,
        "detail": redacted(problem.detail),
        "instance": instance,
        "code": problem.code,
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = [flaw._asdict() for flaw in problem.errors]
    facts = jsonable_encoder(problem.facts)
    return document | {name: fact for name, fact in facts.items() if name not in document}


def type_of(code: str, root: str) -> str:
    """Return where a problem is explained; those of systems are by their own documentation."""
    return f"{root}/problems/{code.replace('_', '-')}" if code in KINDS else "about:blank"


def response_of(problem: Problem, scope: Mapping[str, Any]) -> JSONResponse:
    """Return the problem as the response to the request of an ASGI scope."""
    state = scope.get("state") or {}
    document = document_of(
        problem,
        instance=instance_of(shown_path(scope)),
        request_id=str(state.get("request_id", "")),
        root=str(scope.get("root_path", "")),
    )
    headers = dict(problem.headers)
    if problem.kind.status in {429, 503}:
        headers.setdefault("Retry-After", str(RETRY_AFTER_S))
    return JSONResponse(document, problem.kind.status, headers, media_type=MEDIA_TYPE)


def instance_of(path: str) -> str:
    """Return a request's path as a URI reference may show it."""
    return quote(path, safe=_PATH, errors="replace") or "/"


ProblemPage = Callable[[Request, dict[str, Any]], Response]
"""Makes a page for people of a problem's document."""


def answer(request: Request, problem: Problem) -> Response:
    """Return the response: a page where a person looks at the console, else problem+json."""
    response = response_of(problem, request.scope)
    page: ProblemPage | None = getattr(request.app.state, "problem_page", None)
    if page is None or not _is_for_people(request):
        return response
    document = document_of(
        problem,
        instance=instance_of(shown_path(request.scope)),
        request_id=str(getattr(request.state, "request_id", "")),
        root=str(request.scope.get("root_path", "")),
    )
    shown = page(request, document)
    shown.status_code = problem.kind.status
    for name in ("retry-after", "allow", *(name.lower() for name in problem.headers)):
        if name in response.headers:
            shown.headers[name] = response.headers[name]
    return shown


def is_of_api(request: Request) -> bool:
    """Return whether a request came to the API, and not to a page beside it."""
    path = _path_of(request)
    return path == "/api" or path.startswith("/api/")


def accepts_html(request: Request) -> bool:
    """Return whether a request is a browser's, which looks for a page."""
    return "text/html" in request.headers.get("accept", "")


def _is_for_people(request: Request) -> bool:
    if not accepts_html(request):
        return False
    return _path_of(request) in _PAGES_OF_API or not is_of_api(request)


def _path_of(request: Request) -> str:
    return str(request.scope.get("path", "")).removeprefix(request.scope.get("root_path", ""))
