"""How long the operations of a store take, for those who measure: nothing while nobody does."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

Observer = Callable[[str, float, BaseException | None], None]
"""Is told the operation, the seconds it took, and what it raised."""

_observers: tuple[Observer, ...] = ()


def observe(observer: Observer) -> Callable[[], None]:
    """Tell `observer` of every timed operation of this process; returns the undoing."""
    global _observers  # noqa: PLW0603 - one place for the stores of a process
    _observers = (*_observers, observer)

    def leave() -> None:
        global _observers  # noqa: PLW0603 - as above
        _observers = tuple(other for other in _observers if other is not observer)

    return leave


def timed(operation: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have an operation of a store timed, under its own name, while somebody observes."""
    name = operation.__name__

    @wraps(operation)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not _observers:
            return operation(*args, **kwargs)
        began_s = time.perf_counter()
        try:
            result = operation(*args, **kwargs)
        except BaseException as error:
            _tell(name, time.perf_counter() - began_s, error)
            raise
        _tell(name, time.perf_counter() - began_s, None)
        return result

    return run


def _tell(name: str, took_s: float, error: BaseException | None) -> None:
    for observer in _observers:
        observer(name, took_s, error)
