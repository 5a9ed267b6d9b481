"""Verbs of the application that are those of one of its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Delegate(Generic[_P, _R]):
    """A method of a class that is the method of one of its attributes.

    `cancel = Delegate("changes", JobChanges.cancel)` makes `app.cancel` the same as
    `app.changes.cancel`, with the signature and the docstring of that, and nothing in between.
    """

    def __init__(self, part: str, method: Callable[Concatenate[Any, _P], _R]) -> None:
        self.part = part
        self.method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, app: None, kind: type) -> Callable[Concatenate[Any, _P], _R]: ...

    @overload
    def __get__(self, app: object, kind: type) -> Callable[_P, _R]: ...

    def __get__(
        self, app: object, kind: type
    ) -> Callable[_P, _R] | Callable[Concatenate[Any, _P], _R]:
        if app is None:
            return self.method
        return self.method.__get__(getattr(app, self.part))  # type: ignore[no-any-return]
