"""Serves the page of grading."""

from __future__ import annotations

from typing import Final

from holdfast import Holdfast
from holdfast.pages import pages_of
from holdfast.systems import Asgi

DEVICES: Final = ("microphone",)
"""What the page may use of a browser's devices: answers are recorded on it."""


def pages(_app: Holdfast) -> Asgi:
    """Return the application that serves the page at its root and the rest under `static/`."""
    return pages_of("grading.pages")
