"""Variables of the environment, read strictly: what a system is set up by.

A variable that is empty counts as not set. One that cannot be read is an `InvalidSetting` that
names the variable and says what it must be.

Several systems may run in one process and read the same names. The system's name before a name sets
it for that system alone and wins: `CONVERTER_RETRY_MAX_ATTEMPTS` over `RETRY_MAX_ATTEMPTS`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from holdfast.errors import InvalidSetting

DAY_MS: Final = 24 * 3600 * 1000
MAX_BYTES: Final = 2**40
OF_PROCESS: Final = frozenset(
    {
        "DATABASE_DIRECT_URL",
        "DATABASE_URL",
        "HOLDFAST_SHUTDOWN_GRACE",
        "OUTBOX_BATCH_SIZE",
        "OUTBOX_POLL_INTERVAL_MS",
        "OUTBOX_STALE_THRESHOLD_MS",
        "PORT",
        "TIMEOUT_CHECK_INTERVAL_MS",
        "WORKER_CONCURRENCY",
        "WORKER_LEASE_TTL_SEC",
    }
)
"""Names of settings that a process has once, whichever systems run in it."""

_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_BETWEEN_WORDS: Final = re.compile(r"[^A-Z0-9]+")


class Reading(NamedTuple):
    """A variable that was looked at, and what was found."""

    name: str
    value: str | None
    """What counts, as it is written; None where there is neither a variable nor a default."""
    default: str | None
    variable: str | None
    """The variable that gave the value; None for the default."""


class Variables(Mapping[str, str]):
    """The variables that are set, for a system by its name or for anybody.

    It is a mapping like the environment itself, and remembers in `readings`, by name, what was
    looked at.
    """

    def __init__(self, environment: Mapping[str, str], *, system: str | None = None) -> None:
        self.system: Final = system
        self._given = {name: text for name, text in environment.items() if text.strip()}
        self._own = {} if system is None else _own_names(self._given, prefix_of(system))
        self._given.update({name: self._given[own] for name, own in self._own.items()})
        self.readings: Final[dict[str, Reading]] = {}

    @classmethod
    def of(cls, environment: Mapping[str, str], *, system: str | None = None) -> Variables:
        """Return an environment as variables: the same where it is such already."""
        if isinstance(environment, Variables) and system in (None, environment.system):
            return environment
        return cls(environment, system=system)

    def __getitem__(self, name: str) -> str:
        self._look(name, None)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def named(self, name: str) -> str:
        """Return the variable that sets a name: the system's own where it is set, or the plain."""
        return self._own.get(name, name)

    def knows(self, *names: str) -> None:
        """Say that there are these names, where not all of them are read in every case."""
        for name in names:
            self._look(name, None)

    def text(self, name: str, default: str) -> str:
        """Return a variable without the space around it."""
        found = self._look(name, default)
        return default.strip() if found is None else found

    def maybe(self, name: str) -> str | None:
        """Return a variable without the space around it, or None where it is not set."""
        return self._look(name, None)

    def whole(self, name: str, default: int, *, least: int = 0, most: int) -> int:
        """Return a whole number."""
        text = self.text(name, str(default))
        value = int(text) if _WHOLE.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise self.invalid(name, text, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        """Return a number, with or without a fraction."""
        text = self._look(name, _plain(default))
        if text is None:
            return default
        value = float(text) if _NUMBER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise self.invalid(name, text, f"a number from {_plain(least)} to {most:g}")
        return value

    def seconds(self, name: str, default_s: float) -> float:
        """Return, in seconds, a variable that is in milliseconds."""
        return self.whole(name, round(default_s * 1000), least=1, most=DAY_MS) / 1000

    def size(self, name: str, default_bytes: int) -> int:
        """Return a number of bytes."""
        return self.whole(name, default_bytes, least=1, most=MAX_BYTES)

    def one_of(self, name: str, allowed: Collection[str], *, default: str) -> str:
        """Return one of some words, in lower case."""
        text = self.text(name, default).lower()
        if text not in allowed:
            raise self.invalid(name, text, f"one of {', '.join(allowed)}")
        return text

    def invalid(self, name: str, value: str, limit: str) -> InvalidSetting:
        """Return the error for a name whose variable cannot be used."""
        return invalid(self.named(name), value, limit)

    def _look(self, name: str, default: str | None) -> str | None:
        """Return what is set under a name, if anything, and remember that it was looked at."""
        if name in self._given:
            found, variable = self._given[name].strip(), self.named(name)
        else:
            found, variable = None, None
        known = self.readings.get(name)
        if default is None and known is not None:
            default = known.default
        self.readings[name] = Reading(name, default if found is None else found, default, variable)
        return found


def prefix_of(system: str) -> str:
    """Return what stands before a name that is set for one system."""
    return f"{_BETWEEN_WORDS.sub('_', system.upper())}_"


def invalid(name: str, value: str, limit: str) -> InvalidSetting:
    """Return the error for a variable that cannot be used."""
    return InvalidSetting("environment", field=name, value=value, limit=limit)


def _own_names(given: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return, by plain name, the variables that are set for one system."""
    plain = {name.removeprefix(prefix): name for name in given if name.startswith(prefix)}
    return {name: own for name, own in plain.items() if name and name not in OF_PROCESS}


def _plain(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")
