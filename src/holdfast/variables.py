"""Variables of the environment, read strictly: what a system is set up by.

A variable that is empty counts as not set. One that cannot be read is an `InvalidSetting` that
names the variable and says what it must be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from holdfast.errors import InvalidSetting

DAY_MS: Final = 24 * 3600 * 1000
MOST_BYTES: Final = 2**40

_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


class Variables:
    """The variables that are set, `given` as they are."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.given: Final = {name: text for name, text in environment.items() if text.strip()}

    def text(self, name: str, default: str) -> str:
        """Return a variable without the space around it."""
        return self.given.get(name, default).strip()

    def maybe(self, name: str) -> str | None:
        """Return a variable without the space around it, or None where it is not set."""
        return self.given[name].strip() if name in self.given else None

    def whole(self, name: str, default: int, *, least: int = 0, most: int) -> int:
        """Return a whole number."""
        text = self.text(name, str(default))
        value = int(text) if _WHOLE.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise invalid(name, text, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        """Return a number, with or without a fraction."""
        if name not in self.given:
            return default
        text = self.text(name, "")
        value = float(text) if _NUMBER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            shown = f"{least:.6f}".rstrip("0").rstrip(".")
            raise invalid(name, text, f"a number from {shown} to {most:g}")
        return value

    def seconds(self, name: str, default_s: float) -> float:
        """Return, in seconds, a variable that is in milliseconds."""
        return self.whole(name, round(default_s * 1000), least=1, most=DAY_MS) / 1000

    def size(self, name: str, default_bytes: int) -> int:
        """Return a number of bytes."""
        return self.whole(name, default_bytes, least=1, most=MOST_BYTES)

    def one_of(self, name: str, allowed: Collection[str], *, default: str) -> str:
        """Return one of some words, in lower case."""
        text = self.text(name, default).lower()
        if text not in allowed:
            raise invalid(name, text, f"one of {', '.join(allowed)}")
        return text


def invalid(name: str, value: str, limit: str) -> InvalidSetting:
    """Return the error for a variable that cannot be used."""
    return InvalidSetting("environment", field=name, value=value, limit=limit)
