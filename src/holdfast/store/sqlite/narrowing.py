"""Statements whose conditions may be absent, cut down to those that were asked for.

SQLite plans a statement before it knows its values. A condition that may be absent could never use
an index; without it, the others can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

_OPTIONAL: Final = re.compile(r"\n *and \(:(\w+) is null or (.+)\)$", re.MULTILINE)


def narrowed(statement: str, values: Mapping[str, Any]) -> str:
    """Return the statement without the conditions for which there is no value.

    A condition that may be absent is a line of its own: `and (:name is null or …)`.
    """
    names = _optional(statement)
    return _cut(statement, frozenset(name for name in names if values[name] is None))


@cache
def _optional(statement: str) -> tuple[str, ...]:
    return tuple(found[1] for found in _OPTIONAL.finditer(statement))


@cache
def _cut(statement: str, absent: frozenset[str]) -> str:
    def kept(found: re.Match[str]) -> str:
        return "" if found[1] in absent else f"\n   and ({found[2]})"

    return _OPTIONAL.sub(kept, statement)
