"""How long the operations of a store take, for those who measure: nothing while nobody does."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

Observer = Callable[[str, float, BaseException | None], None]
"""Is called with the operation, the seconds it took, and what it raised."""


class Timings:
    """The observers of a store, and of those that are reserved of it."""

    def __init__(self) -> None:
        self.observers: tuple[Observer, ...] = ()

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tell `observer` of every timed operation from now on; returns the undoing."""
        self.observers = (*self.observers, observer)

        def leave() -> None:
            self.observers = tuple(other for other in self.observers if other is not observer)

        return leave

    def tell(self, operation: str, began_s: float, error: BaseException | None) -> None:
        """Tell everybody of an operation that has ended."""
        took_s = time.perf_counter() - began_s
        for observer in self.observers:
            observer(operation, took_s, error)


class _Timed(Protocol):
    timings: Timings


_S = TypeVar("_S", bound=_Timed)


def timed(operation: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Have an operation of a store timed, under its own name, while there are observers."""
    name = operation.__name__

    @wraps(operation)
    def run(store: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        timings = store.timings
        if not timings.observers:
            return operation(store, *args, **kwargs)
        began_s = time.perf_counter()
        try:
            result = operation(store, *args, **kwargs)
        except BaseException as error:
            timings.tell(name, began_s, error)
            raise
        timings.tell(name, began_s, None)
        return result

    return run
