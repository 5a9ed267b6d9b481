"""The life of an application inside a web application: `FastAPI(lifespan=app.lifespan())`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from holdfast.engine.threads import CallThreads
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.worker import Worker

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]


class Running(Protocol):
    """What of an application lives as long as the web application."""

    threads: CallThreads

    @property
    def store(self) -> object:
        """The store, its schema brought up to date or checked."""
        ...

    def worker(self, *, options: WorkerOptions | None = None) -> Worker:
        """Return a worker."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def lifespan_of(app: Running, *, worker: bool | WorkerOptions) -> Lifespan:
    """Return what opens an application with a web application, and ends it in order.

    First the worker: what runs is finished within its grace period, the rest is handed back. Then
    the connections. The server has answered its last request by then.
    """
    options = worker if isinstance(worker, WorkerOptions) else None

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        run = app.threads.run
        await run(lambda: app.store)
        running = app.worker(options=options) if worker else None
        try:
            if running is not None:
                await run(running.start)
            yield
        finally:
            if running is not None:
                await run(running.drain)
            await run(app.close)

    return lifespan
