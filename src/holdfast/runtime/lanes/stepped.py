"""A coroutine in a context of its own, inside a task that it need not have to itself."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any


class Stepped:
    """Runs a coroutine as far as it goes at once, and the rest of it where it is awaited.

    Nothing that it sets in context variables is seen outside, and nothing of outside in it.
    """

    __slots__ = ("_context", "_coroutine", "_waits_for", "value")

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._context = Context()
        self._waits_for: Any = None
        self.value: Any = None
        """What the coroutine returned, once it has."""

    def waits(self) -> bool:
        """Run to where the coroutine has to wait, or to its end; False when that was its end."""
        try:
            self._waits_for = self._context.run(self._coroutine.send, None)
        except StopIteration as ended:
            self.value = ended.value
            return False
        return True

    def __await__(self) -> Generator[Any, Any, Any]:
        """Wait where the coroutine waits, and go on with it, until its end."""
        run, coroutine = self._context.run, self._coroutine
        try:
            while True:
                try:
                    sent = yield self._waits_for
                except BaseException as thrown:  # noqa: BLE001 - it is the coroutine's to handle
                    self._waits_for = run(coroutine.throw, thrown)
                else:
                    self._waits_for = run(coroutine.send, sent)
        except StopIteration as ended:
            return ended.value
