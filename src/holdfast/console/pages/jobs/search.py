"""One field for what people have at hand: an id, a key, or an error class."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from holdfast.console.rendering.rendering import LOOK, Console
from holdfast.console.requests.visit import Visit
from holdfast.errors import UnknownDelivery, UnknownJob, UnknownLetter, UnknownReplay

_SEE_OTHER: Final = 303
_ERROR_CLASS: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def add_to(console: Console) -> None:
    """Route to the search."""

    def search(visit: Visit) -> Response:
        path = found(console, visit, visit.asked("q") or "")
        return RedirectResponse(visit.base + path, _SEE_OTHER)

    console.page("/search", LOOK, search)


def found(console: Console, visit: Visit, wanted: str) -> str:
    """Return the page of what a visitor looks for."""
    engine = console.engine
    if not wanted:
        return "/jobs"
    if _ERROR_CLASS.fullmatch(wanted):
        return "/jobs?" + urlencode({"error_class": wanted})
    try:
        return f"/jobs/{engine.job(wanted, owner=visit.owner).id}"
    except UnknownJob:
        pass
    try:
        return f"/dead-letters/{engine.dead.get(wanted, owner=visit.owner).id}"
    except UnknownLetter:
        pass
    try:
        return f"/deliveries/{engine.deliveries.get(wanted, owner=visit.owner).id}"
    except UnknownDelivery:
        pass
    try:
        return f"/replays/{engine.replays.show(wanted, owner=visit.owner).id}"
    except UnknownReplay:
        pass
    return "/jobs?" + urlencode({"key": wanted})
