"""SQL of systems, written once for both databases.

A value is written `:name` and a table of a system `system.table`. On PostgreSQL the system is a
schema; on SQLite, which has no schemas, the table is called `system_table`. Everything else has to
be valid in both dialects as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from holdfast.errors import UsageError

Value = str | int | float | bytes | None
"""What both databases store alike; a bool is an int."""

_TOKEN: Final = re.compile(
    r"""
    (?P<literal> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ )
    | ::
    | :(?P<name>[A-Za-z_]\w*)
    | (?<![\w.])(?P<system>[a-z_]\w*)\.(?P<table>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)
_WRITES: Final = re.compile(r"\b(?:insert|update|delete|merge|for\s+share)\b", re.IGNORECASE)
_STORABLE: Final = (str, int, float, bytes)


class Ran(NamedTuple):
    """What a statement of a system returned."""

    rows: list[dict[str, Any]]
    """By the names of the columns; empty for a statement that returns none."""
    changed: int
    """How many rows it inserted, updated or deleted."""


class Statement(NamedTuple):
    """A statement of a system, in the form that each driver takes."""

    sqlite: str
    postgres: str
    names: frozenset[str]
    """The names of the values it needs."""

    def checked(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return the values it needs, or raise `UsageError` for one that cannot be stored."""
        missing = sorted(self.names - values.keys())
        if missing:
            raise UsageError(f"the statement has :{missing[0]}, and values has no {missing[0]!r}")
        found = {name: values[name] for name in self.names}
        for name, value in found.items():
            if value is not None and not isinstance(value, _STORABLE):
                raise UsageError(
                    f"{name!r} is a {type(value).__name__}; give text, a number, bytes or None: "
                    "instants as text or as microseconds, documents as JSON text"
                )
        return found


def statement(text: str, *, systems: Collection[str]) -> Statement:
    """Return a statement in both dialects; `systems` are those whose tables it may name."""
    return _statement(text, frozenset(systems))


@lru_cache(maxsize=512)
def _statement(text: str, systems: frozenset[str]) -> Statement:
    names = {found["name"] for found in _TOKEN.finditer(text) if found["name"]}

    def for_postgres(found: re.Match[str]) -> str:
        return f"%({found['name']})s" if found["name"] else found[0]

    # The driver takes every % for a placeholder, in literals too.
    postgres = _TOKEN.sub(for_postgres, text.replace("%", "%%"))
    return Statement(on_sqlite(text, systems=systems), postgres, frozenset(names))


@lru_cache(maxsize=512)
def writes(text: str) -> bool:
    """Return whether a statement would change rows or lock them."""
    bare = _TOKEN.sub(lambda found: " " if found["literal"] else found[0], text)
    return _WRITES.search(bare) is not None


def on_sqlite(text: str, *, systems: Collection[str]) -> str:
    """Return SQL with the tables of these systems named as SQLite has them."""

    def renamed(found: re.Match[str]) -> str:
        if found["system"] in systems:
            return f"{found['system']}_{found['table']}"
        return found[0]

    return _TOKEN.sub(renamed, text)
