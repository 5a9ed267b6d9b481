"""What every source of changes promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from criticizer.change import Change


class Source(Protocol):
    """Finds changes by their ids."""

    def fetch(self, changelist_id: str, *, timeout_s: float, headers: Mapping[str, str]) -> Change:
        """Return a change, asked for once: who retries is the engine.

        `headers` go with a call over HTTP, to carry a trace on. Raises `ChangeMissing` for one
        that is not there, `ChangeTooLarge` for one that is larger than may be reviewed,
        `BadChangeId` for an id that cannot be one of this source's, and otherwise what the
        library underneath raises.
        """

    def close(self) -> None:
        """Let go of connections."""
