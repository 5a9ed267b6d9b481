"""The mailbox: polls of it, by the clock or on request."""

from __future__ import annotations

from typing import Any

from collabiq.config import Config
from holdfast import Holdfast


class Inbox:
    """Has the mailbox polled, one poll at a time."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self._engine, self._config = engine, config

    def fetch(self, *, by: str) -> dict[str, Any]:
        """Have the mailbox polled now: `poll_id`, and whether a poll under way was `joined`."""
        raise NotImplementedError

    def last_poll(self) -> dict[str, Any] | None:
        """Return when the mailbox was last polled, and what came of it."""
        raise NotImplementedError

    def notified(self) -> None:
        """Have the mailbox polled soon because Gmail says that there is something new."""
        raise NotImplementedError
