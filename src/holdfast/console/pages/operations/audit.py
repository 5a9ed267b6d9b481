"""The audit log: who did what to what, when and why."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

from holdfast.console import words
from holdfast.console.rendering.rendering import LOOK_AT_ALL, Console
from holdfast.console.requests.tabs import tabs
from holdfast.console.requests.visit import Visit
from holdfast.core.values.instant import SECOND_US
from holdfast.engine.app import Holdfast
from holdfast.store.tables.audit import AuditEntry

PAGE: Final = 100
CHUNK: Final = 500
MAX_READ: Final = 5_000
"""So many entries are read for one page at most."""
MAX_UNFOLDED: Final = 200
GAP_US: Final = 60 * SECOND_US
"""What is done later than this after the one before is another action."""
_MANY: Final = {"delivery": "deliveries"}
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
    """Return the latest entries, newest first; those of one bulk action are one row."""
    before = visit.position("before")
    folds, last = _folds(console.engine, visit, before)
    return console.render(
        visit,
        "audit.html",
        screen="audit",
        rows=[_row(fold) for fold in folds],
        tabs=tabs(visit, "kind", _TABS),
        next_href=None if last is None else visit.href(before=str(last)),
        first_href=None if before is None else visit.href(before=None),
    )


def _folds(
    engine: Holdfast, visit: Visit, before: int | None
) -> tuple[list[list[AuditEntry]], int | None]:
    """Return rows as the entries that each stands for, and where the next page goes on."""
    folding = Folding()
    while folding.read < MAX_READ:
        found = engine.audit(
            subject_kind=visit.asked("kind"),
            subject=visit.asked("subject"),
            before=folding.last or before,
            limit=CHUNK,
        )
        if not all(folding.take(entry) for entry in found):
            return folding.folds, folding.last
        if len(found) < CHUNK:
            return folding.folds, None
    return folding.folds, folding.last


class Folding:
    """Puts entries of one bulk action together: the same deed, by the same person, in a row."""

    def __init__(self) -> None:
        self.folds: list[list[AuditEntry]] = []
        self.read = 0
        self.last: int | None = None
        """The id of the last entry that was taken."""
        self._open: dict[tuple[str, str, str, str | None], list[AuditEntry]] = {}

    def take(self, entry: AuditEntry) -> bool:
        """Take the next older entry; False when the page has no room for another row."""
        key = (entry.done_by, entry.action, entry.subject_kind, entry.reason)
        fold = self._open.get(key)
        if fold is not None and fold[-1].at - entry.at <= GAP_US:
            fold.append(entry)
        elif len(self.folds) == PAGE:
            return False
        else:
            self._open[key] = [entry]
            self.folds.append(self._open[key])
        self.read += 1
        self.last = entry.id
        return True


def _row(fold: list[AuditEntry]) -> dict[str, Any]:
    first = fold[0]
    many = _MANY.get(first.subject_kind)
    return {
        **first._asdict(),
        "href": _href(first),
        "count": words.plural(len(fold), words.spoken(first.subject_kind), many),
        "others": [{**entry._asdict(), "href": _href(entry)} for entry in fold[:MAX_UNFOLDED]]
        if len(fold) > 1
        else [],
        "left": max(len(fold) - MAX_UNFOLDED, 0),
    }


def _href(entry: AuditEntry) -> str | None:
    page = _PAGES.get(entry.subject_kind)
    return None if page is None else page + quote(entry.subject, safe="")
