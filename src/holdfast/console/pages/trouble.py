"""Problems as people see them: the form to sign in, or what went wrong and whose move it is."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.problems import ProblemPage
from holdfast.console.pages.login import local_path, sign_in_page
from holdfast.console.rendering import Console, visit_of

_UNKNOWN: Final = frozenset({"credentials_missing", "credentials_refused"})


def page_for(console: Console) -> ProblemPage:
    """Return what makes a page of a problem."""

    def page(request: Request, document: dict[str, Any]) -> Response:
        visitor = getattr(request.state, "visitor", None)
        if document["code"] in _UNKNOWN:
            return sign_in_page(console, request, following=_here(request))
        if visitor is None:
            return console.bare(
                request,
                "trouble_bare.html",
                status=document["status"],
                title=document["title"],
                detail=document["detail"],
                request_id=document["request_id"],
            )
        return console.render(
            visit_of(request),
            "trouble.html",
            screen="",
            status=document["status"],
            title=document["title"],
            detail=document["detail"],
            request_id=document["request_id"],
        )

    return page


def _here(request: Request) -> str:
    """Return the page that was asked for, to be shown after signing in; no form is sent again."""
    if request.method != "GET":
        return "/"
    base = str(request.scope.get("root_path", "")).rstrip("/")
    path = str(request.scope.get("path", "/")).removeprefix(base)
    query = request.scope.get("query_string", b"").decode("ascii", "replace")
    return local_path(path + (f"?{query}" if query else ""))
