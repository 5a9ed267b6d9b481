"""How the parts of a store that both databases share run their statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")


class Steps(Protocol):
    """Statements of one transaction, by name."""

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        ...

    def count(self, statement: str, values: Mapping[str, Any]) -> int:
        """Run a statement and return how many rows it changed."""
        ...


class Sql(Steps, Protocol):
    """Statements by name, each in a transaction of its own."""

    def written(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement that writes, and return its rows."""
        ...

    def transact(self, work: Callable[[Steps], _T], *, connection: object = None) -> _T:
        """Run `work` in one transaction that writes; it may be run again and must allow that.

        With `connection` it is part of the caller's own transaction, and nothing is committed here.
        """
        ...
