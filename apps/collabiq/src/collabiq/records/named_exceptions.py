"""Exceptions of libraries that are slow to import, known by their names until they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from importlib import import_module


class NamedExceptions(AbstractSet[type[Exception]]):
    """A set of exception classes; libraries are imported when it is first looked into.

    It is equal to a plain set of the same classes. `names` are dotted, such as
    `googleapiclient.errors.HttpError`; `kinds` are classes that are there already.
    """

    def __init__(self, *names: str, kinds: AbstractSet[type[Exception]] = frozenset()) -> None:
        self._names, self._kinds = names, frozenset(kinds)
        self._found: frozenset[type[Exception]] | None = None

    def __contains__(self, kind: object) -> bool:
        return kind in self._all()

    def __iter__(self) -> Iterator[type[Exception]]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == other

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def _all(self) -> frozenset[type[Exception]]:
        if self._found is None:
            self._found = self._kinds | {_imported(name) for name in self._names}
        return self._found


def _imported(name: str) -> type[Exception]:
    module, _, kind = name.rpartition(".")
    found = getattr(import_module(module), kind)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise TypeError(f"{name} is not a class of exceptions")
    return found
