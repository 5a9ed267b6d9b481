"""Work on Notion in steps, each of which is one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from collabiq.failures.circuits import Circuits
from collabiq.records.circuit_breaker import CircuitState
from collabiq.services.upstreams import NOTION
from holdfast import Holdfast, RetryLater

MAX_STEPS: Final = 50
_T = TypeVar("_T")


def in_steps(engine: Holdfast, step: Callable[[], _T]) -> _T:
    """Make one step, and leave the next to another attempt, so that each counts in the rate.

    While the breaker is not closed an attempt is a trial, which the whole work is one of: a step
    that leaves the next to another attempt says neither that Notion is well nor that it is not.
    """
    for left in range(MAX_STEPS, 0, -1):
        try:
            return step()
        except RetryLater as postponed:
            if postponed.after > 0 or left == 1 or _is_closed(engine):
                raise
    raise AssertionError(MAX_STEPS)


def _is_closed(engine: Holdfast) -> bool:
    return Circuits(engine).state_of(NOTION).state is CircuitState.CLOSED
