"""What every source of changes promises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from criticizer.change import Change

FULL_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""The whole hash of a commit, which means the same forever."""


class Pinned(NamedTuple):
    """A change by an id that means the same forever, and where it is."""

    changelist_id: str
    repository: str
    """What people call the repository: no path of this machine, and nothing secret."""


class Source(Protocol):
    """Finds changes by their ids."""

    def fetch(self, changelist_id: str, *, timeout_s: float, headers: Mapping[str, str]) -> Change:
        """Return a change, asked for once: who retries is the engine.

        `headers` go with a call over HTTP, to carry a trace on. Raises `ChangeMissing` for one
        that is not there, `ChangeTooLarge` for one that is larger than may be reviewed,
        `BadChangeId` for an id that cannot be one of this source's, and otherwise what the
        library underneath raises.
        """

    def pin(self, changelist_id: str, *, timeout_s: float) -> Pinned:
        """Return the change that an id names now, with its commits by their hashes.

        Raises what `fetch` raises.
        """

    def located(self, changelist_id: str) -> Pinned | None:
        """Return the change without asking anybody; None for names that move, such as branches.

        Raises `BadChangeId`.
        """

    def close(self) -> None:
        """Let go of connections."""
