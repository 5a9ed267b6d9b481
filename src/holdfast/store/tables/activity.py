"""How much happened in each minute: counters that many processes add to."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final, NamedTuple

from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql

MINUTE_US: Final = 60_000_000
CHUNK: Final = 500


class ActivityCount(NamedTuple):
    """How often something happened in a minute, in the order of its columns."""

    minute: Instant
    """When the minute began."""
    pipeline: str
    stage: str
    kind: str
    """What happened, as the ledger calls it."""
    error_class: str
    """Why, where an attempt failed; else empty."""
    times: int
    duration_us: int
    """How long the attempts that ended so took together."""


class ActivityCounts:
    """Adds to counters and reads them."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def add(self, counts: Collection[ActivityCount]) -> None:
        """Add to the counters, all or none; no two of them may be of the same key."""
        # In one order, so that two who add to the same ones do not wait in a circle.
        ordered = sorted(counts)
        texts = [
            json.dumps([count._asdict() for count in ordered[start : start + CHUNK]])
            for start in range(0, len(ordered), CHUNK)
        ]
        if texts:
            self._sql.transact(
                lambda steps: [steps.count("tally_add", {"rows": rows}) for rows in texts]
            )

    def since(self, minute: Instant, *, limit: int) -> list[ActivityCount]:
        """Return the counters of the minutes that began then or later, the latest minute first."""
        rows = self._sql.rows("tallies", {"since": minute, "limit": limit})
        return [ActivityCount._make(row) for row in rows]

    def first_minute(self) -> Instant | None:
        """Return the first minute that has a counter, None where there is none."""
        [(minute,)] = self._sql.rows("tally_first", {})
        return None if minute is None else Instant(minute)
