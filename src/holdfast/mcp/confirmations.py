"""Confirmations: what changes something is asked for twice, and done as it was asked for first."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from holdfast.errors import ConflictError
from holdfast.runtime.kernel.clock import monotonic_s

VALID_S: Final = 300.0
MOST: Final = 100
"""How many may be open; the oldest are forgotten first."""
_AGAIN: Final = "call it without a confirmation, look at what it answers, and confirm that"


class Intent(NamedTuple):
    """A call that changes something."""

    tool: str
    arguments: Mapping[str, Any]
    seen: object
    """How what it changes stood when it was looked at, as a JSON value."""

    @property
    def call(self) -> str:
        """The tool and its arguments as one text."""
        return json.dumps([self.tool, self.arguments], sort_keys=True, default=str)


class _Open(NamedTuple):
    call: str
    seen: object
    until_s: float


class Confirmations:
    """The confirmations of one session, each for one call, once, and for a few minutes."""

    def __init__(
        self,
        *,
        now_s: Callable[[], float] = monotonic_s,
        draw: Callable[[], str] = secrets.token_urlsafe,
    ) -> None:
        self._now_s = now_s
        self._draw = draw
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}

    def give(self, intent: Intent) -> str:
        """Return what confirms this call."""
        token = self._draw()
        with self._lock:
            while len(self._open) >= MOST:
                del self._open[next(iter(self._open))]
            self._open[token] = _Open(intent.call, intent.seen, self._now_s() + VALID_S)
        return token

    def take(self, token: str, intent: Intent) -> None:
        """Use a confirmation up, or raise `ConflictError` where it does not confirm this call."""
        with self._lock:
            found = self._open.pop(token, None)
        if found is None:
            raise ConflictError(f"this confirmation was not given here, or is used up; {_AGAIN}")
        if self._now_s() > found.until_s:
            raise ConflictError(f"this confirmation has expired; {_AGAIN}")
        if found.call != intent.call:
            raise ConflictError(f"this confirmation was given for another call; {_AGAIN}")
        if found.seen != intent.seen:
            raise ConflictError(f"what it was given for has changed meanwhile; {_AGAIN}")
