"""Moments and spans as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import click

_SPAN: Final = re.compile(r"(\d{1,6})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Since(click.ParamType[datetime]):
    """A moment: a span before now such as `24h`, or a date such as `2025-11-03`."""

    name = "span or date"

    def __init__(self, now: datetime | None = None) -> None:
        self._now = now

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the moment that is meant."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        span = _SPAN.fullmatch(text)
        if span is not None:
            from collabiq.cli.services import now  # noqa: PLC0415 - it brings the SDKs

            return (self._now or now()) - timedelta(**{_UNITS[span[2]]: int(span[1])})
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is no span such as 24h and no date such as 2025-11-03", param, ctx)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def shown_time(text: object) -> str:
    """Return a moment of a document in UTC, to the second; nothing for none."""
    if not text:
        return ""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return str(text)
    return f"{found.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
