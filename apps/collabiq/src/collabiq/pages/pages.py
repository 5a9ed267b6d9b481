"""Serves the page of collabiq."""

from __future__ import annotations

from holdfast import Holdfast
from holdfast.pages import pages_of
from holdfast.systems import Asgi


def pages(_app: Holdfast) -> Asgi:
    """Return the application that serves the page at its root and the rest under `static/`."""
    return pages_of("collabiq.pages")
