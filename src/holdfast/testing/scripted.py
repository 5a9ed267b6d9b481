"""Handlers and upstreams that do what a test says, call by call."""

from __future__ import annotations

import threading
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

from holdfast.runtime.attempts.attempt import JobContext

_NOTHING: Final = object()
_CALLED: Final = (FunctionType, MethodType, BuiltinFunctionType)


class Call(NamedTuple):
    """One call of a script: what it was given."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Script:
    """Plays outcomes in order, one per call, and records the calls.

    An exception, or the class of one, is raised: also `RetryLater` and `GiveUp`. A function or
    method is called with what the script was called with. Anything else is returned. When the
    outcomes are used up `then` is played for every further call; without it, a further call is
    an `AssertionError`.

        gateway = Script(TimeoutError("slow"), GiveUp("NOT_FOUND"))
        convert.stage(name="to_xml")(gateway.handler)

    `handler` and `async_handler` are stages as they stand; the script itself can stand in for
    any callable, such as a client's method.
    """

    def __init__(self, *outcomes: Any, then: Any = _NOTHING) -> None:  # noqa: ANN401
        self.calls: list[Call] = []
        self._outcomes = outcomes
        self._then = then
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Script({len(self._outcomes)} outcomes, {len(self.calls)} calls)"

    @property
    def remaining(self) -> int:
        """How many outcomes have not been played."""
        return max(len(self._outcomes) - len(self.calls), 0)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands in for anything
        """Play the next outcome."""
        outcome = self._next(Call(args, kwargs))
        if isinstance(outcome, BaseException):
            # Played again, an exception must not bring along where it was raised before.
            raise outcome.with_traceback(None)
        if isinstance(outcome, type) and issubclass(outcome, BaseException):
            raise outcome
        return outcome(*args, **kwargs) if isinstance(outcome, _CALLED) else outcome

    def handler(self, job: JobContext) -> Any:  # noqa: ANN401 - whatever the script says
        """Play the next outcome as a plain handler."""
        return self(job)

    async def async_handler(self, job: JobContext) -> Any:  # noqa: ANN401
        """Play the next outcome as an `async def` handler."""
        return self(job)

    def _next(self, call: Call) -> Any:  # noqa: ANN401
        with self._lock:
            position = len(self.calls)
            self.calls.append(call)
        if position < len(self._outcomes):
            return self._outcomes[position]
        if self._then is _NOTHING:
            raise AssertionError(
                f"the script has {len(self._outcomes)} outcomes and was called {position + 1} times"
            )
        return self._then


def failing(
    times: int,
    error: BaseException | type[BaseException] = TimeoutError,
    *,
    then: Any = None,  # noqa: ANN401 - whatever the handler is to return
) -> Script:
    """Return a script that fails `times` times and then always succeeds with `then`.

    As in `upstream = failing(2, ConnectionResetError, then={"pages": 3})`.
    """
    return Script(*[error] * times, then=then)
