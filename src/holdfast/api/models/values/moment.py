"""Times as the API tells them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import AwareDatetime, BeforeValidator, Field

from holdfast.core.values.instant import Instant, from_datetime, to_rfc3339

_DATED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")

Moment = Annotated[
    str,
    Field(
        json_schema_extra={"format": "date-time"},
        examples=["2026-11-16T08:30:00.000000Z"],
    ),
]
"""An instant as RFC 3339 writes it, in UTC and with microseconds."""


def _written_out(sent: object) -> object:
    """Refuse numbers: whether they are seconds or milliseconds nobody can know."""
    if isinstance(sent, datetime) or (isinstance(sent, str) and _DATED.match(sent)):
        return sent
    raise ValueError("write the time out, with its zone, like 2026-11-16T08:30:00Z")


When = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_out)]
"""An instant that a client sends, in any zone, as RFC 3339 writes it."""


def told(instant: Instant | None) -> str | None:
    """Return an instant as the API tells it; None stays None."""
    return None if instant is None else to_rfc3339(instant)


def instant(moment: datetime | None) -> Instant | None:
    """Return the instant of what was sent; None stays None."""
    return None if moment is None else from_datetime(moment)
