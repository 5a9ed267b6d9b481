"""The audit log: who did what to what, when and why."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

from holdfast.console import words
from holdfast.console.rendering import LOOK_AT_ALL, Console
from holdfast.console.tabs import tabs
from holdfast.console.visit import Visit
from holdfast.store.audit import AuditEntry

PAGE: Final = 100
_PAGES: Final = {
    "job": "/jobs/",
    "dead_letter": "/dead-letters/",
    "replay": "/replays/",
    "upstream": "/upstreams/",
    "delivery": "/deliveries/",
    "queue": "/jobs?queue=",
}
_KINDS: Final = (
    "job",
    "dead_letter",
    "replay",
    "upstream",
    "queue",
    "worker",
    "delivery",
    "message",
    "token",
)
_TABS: Final = (("All", None), *((words.spoken(kind).capitalize(), kind) for kind in _KINDS))


def add_to(console: Console) -> None:
    """Route to the log."""
    console.page("/audit", LOOK_AT_ALL, lambda visit: audit(console, visit))


def audit(console: Console, visit: Visit) -> Response:
    """Return the latest entries, newest first."""
    before = visit.position("before")
    found = console.engine.audit(
        subject_kind=visit.asked("kind"),
        subject=visit.asked("subject"),
        before=before,
        limit=PAGE + 1,
    )
    shown = found[:PAGE]
    return console.render(
        visit,
        "audit.html",
        screen="audit",
        entries=[_line(entry) for entry in shown],
        tabs=tabs(visit, "kind", _TABS),
        next_href=visit.href(before=str(shown[-1].id)) if len(found) > PAGE else None,
        first_href=None if before is None else visit.href(before=None),
    )


def _line(entry: AuditEntry) -> dict[str, Any]:
    page = _PAGES.get(entry.subject_kind)
    href = None if page is None else page + quote(entry.subject, safe="")
    return {**entry._asdict(), "href": href}
