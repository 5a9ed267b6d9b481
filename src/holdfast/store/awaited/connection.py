"""A connection of an event loop, as a thread uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class AwaitedConnection:
    """A caller's connection whose statements run on the event loop it was lent on.

    The caller awaits meanwhile, so that nobody else uses it. Never for the loop's own thread.
    """

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - of whichever driver
        self.connection = connection
        self._loop = asyncio.get_running_loop()

    def wait_for(self, statement: Coroutine[Any, Any, _T]) -> _T:
        """Have the loop run a statement, and return its answer."""
        return asyncio.run_coroutine_threadsafe(statement, self._loop).result()
