"""The runbook, where those who look at a failure can read on."""

from __future__ import annotations

from starlette.responses import Response

from holdfast.console import runbook
from holdfast.console.rendering.rendering import LOOK_AT_ALL, Console
from holdfast.console.requests.visit import Visit


def add_to(console: Console) -> None:
    """Route to the runbook."""
    console.page("/runbook", LOOK_AT_ALL, lambda visit: runbook_page(console, visit))


def runbook_page(console: Console, visit: Visit) -> Response:
    """Return all of it; its headings are anchors."""
    return console.render(visit, "runbook.html", screen="runbook", runbook=runbook.page())
