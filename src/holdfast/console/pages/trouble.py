"""Problems as people see them: the form to sign in, or what went wrong and whose move it is."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.problems import ProblemPage
from holdfast.console.pages.login import local_path, sign_in_page
from holdfast.console.rendering.rendering import Console, visit_of

_NOT_FOUND: Final = 404
_ID: Final = "Check the address. It may have been removed, or belong to another owner."
_DETAILS: Final = {
    "not_found": "No page is at this address. It may be mistyped, or an old link.",
    "job_not_found": _ID,
    "dead_letter_not_found": _ID,
    "replay_not_found": _ID,
    "delivery_not_found": _ID,
    "message_not_found": _ID,
}
"""Details for people, where those of the API speak to programmers."""
_UNKNOWN: Final = frozenset({"credentials_missing", "credentials_refused"})


def page_for(console: Console) -> ProblemPage:
    """Return what makes a page of a problem."""

    def page(request: Request, document: dict[str, Any]) -> Response:
        visitor = getattr(request.state, "visitor", None)
        if document["code"] in _UNKNOWN:
            return sign_in_page(console, request, following=_here(request))
        shown = {
            "status": document["status"],
            "title": document["title"],
            "detail": _DETAILS.get(document["code"], document["detail"]),
            # Who mistyped an address has nothing to report.
            "request_id": "" if document["status"] == _NOT_FOUND else document["request_id"],
        }
        if visitor is None:
            return console.bare(request, "trouble_bare.html", more=console.more, **shown)
        return console.render(visit_of(request), "trouble.html", screen="", **shown)

    return page


def _here(request: Request) -> str:
    """Return the page that was asked for, to be shown after signing in; no form is sent again."""
    if request.method != "GET":
        return "/"
    base = str(request.scope.get("root_path", "")).rstrip("/")
    path = str(request.scope.get("path", "/")).removeprefix(base)
    query = request.scope.get("query_string", b"").decode("ascii", "replace")
    return local_path(path + (f"?{query}" if query else ""))
