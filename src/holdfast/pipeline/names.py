"""Names and lengths of time, as declarations and submissions give them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidPolicy, InvalidValue

MAX_NAME_LENGTH: Final = 64
MAX_SPAN_S: Final = 10 * 365 * 86_400.0
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
Span = float | timedelta
"""A length of time: seconds, or a timedelta."""


def checked_name(name: object, *, what: str) -> str:
    """Return the name of a pipeline, stage, queue or upstream, or raise `InvalidValue`."""
    if not isinstance(name, str) or len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise InvalidValue(
            what,
            field="name",
            value=name,
            limit=f"a letter, then letters, digits, '_', '.' or '-', "
            f"at most {MAX_NAME_LENGTH} characters",
        )
    return name


def span_us(span: Span | None, *, owner: str, field: str) -> int | None:
    """Return a span in microseconds, or raise `InvalidPolicy` unless it is over 0 and finite."""
    if span is None:
        return None
    seconds: object = span.total_seconds() if isinstance(span, timedelta) else span
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 < seconds <= MAX_SPAN_S
    ):
        raise InvalidPolicy(
            owner, field=field, value=span, limit="a number of seconds over 0, at most ten years"
        )
    return int(seconds * SECOND_US)
