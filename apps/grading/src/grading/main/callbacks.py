"""Callbacks of graders: each event counts once, whichever way it comes."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast import Holdfast, Received


class Standing(StrEnum):
    """What became of a callback."""

    TAKEN = "taken"
    LATE = "late"
    REPEATED = "repeated"
    IGNORED = "ignored"


class Handled(NamedTuple):
    """A callback that was handled, and what became of it."""

    standing: Standing
    submission_id: str


class Callbacks:
    """Takes callbacks. `handle` is what consumers call; `take` what an HTTP route calls."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app

    def handle(self, received: Received) -> None:
        """Take a callback message; raise `GiveUp` for one that no redelivery mends."""
        self.take(received)

    def take(self, received: Received) -> Handled:
        """Take a callback and return what became of it."""
        raise NotImplementedError
