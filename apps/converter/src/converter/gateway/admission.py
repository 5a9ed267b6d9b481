"""How many conversions run at once, and how many requests may wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from converter.gateway.problems import Problem


class Admission:
    """Lets `running` conversions run and `waiting` more requests wait; the rest are sent away."""

    def __init__(self, *, running: int, waiting: int) -> None:
        self._slots = asyncio.Semaphore(running)
        self._most = running + waiting
        self._inside = 0

    @property
    def inside(self) -> int:
        """How many requests are inside: sending, waiting or being converted."""
        return self._inside

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[None]:
        """Be inside meanwhile, or raise `Problem` at once."""
        if self._inside >= self._most:
            raise Problem(503, "busy", "Too many conversions are under way; try again.")
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it meanwhile."""
        async with self._slots:
            yield
