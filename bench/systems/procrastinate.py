"""Procrastinate: PostgreSQL task queue for Python (PyPI `procrastinate`), on psycopg."""

import asyncio
import contextlib
from collections.abc import Iterator
from importlib.metadata import version

import procrastinate
import uvloop

from bench.program import Tally, main

CONCURRENCY = 10
CONNECTIONS = 10


class ProcrastinateSubmitter:
    def __init__(self, task: procrastinate.tasks.Task) -> None:
        self._task = task

    @staticmethod
    def payload(n: int) -> dict[str, int]:
        return {"n": n}

    def one(self, payload: dict[str, int]) -> None:
        self._task.defer(**payload)

    def many(self, payloads: list[dict[str, int]]) -> None:
        self._task.batch_defer(*payloads)


class ProcrastinateSystem:
    @staticmethod
    def describe() -> dict[str, object]:
        return {
            "name": "Procrastinate",
            "version": version("procrastinate"),
            "workloads": ["drain-one-stage", "submit-bulk", "submit-single", "latency"],
            "settings": {
                "driver": f"psycopg {version('psycopg')} on uvloop",
                "concurrency": CONCURRENCY,
                "connections": CONNECTIONS,
                "listen_notify": "on (default)",
                "delete_jobs": "never (default)",
            },
            "unfinished": (
                "select count(*) from procrastinate_jobs where status in ('todo', 'doing')"
            ),
            "finished": "select count(*) from procrastinate_jobs where status = 'succeeded'",
        }

    @staticmethod
    def prepare(url: str) -> None:
        app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=url))
        with app.open():
            app.schema_manager.apply_schema()

    @staticmethod
    @contextlib.contextmanager
    def submitter(url: str, _shape: str) -> Iterator[ProcrastinateSubmitter]:
        app = procrastinate.App(
            connector=procrastinate.SyncPsycopgConnector(conninfo=url, min_size=1, max_size=1)
        )

        @app.task(name="job")
        def job(n: int) -> None:
            """Submitted here, run by the worker."""

        with app.open():
            yield ProcrastinateSubmitter(job)

    @staticmethod
    async def work(url: str, _shape: str, tally: Tally) -> None:
        app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=url, min_size=CONNECTIONS, max_size=CONNECTIONS
            )
        )

        @app.task(name="job")
        async def job(n: int) -> None:
            tally.note(n)

        async with app.open_async():
            worker = asyncio.ensure_future(
                app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)
            )
            await asyncio.wait(
                {worker, asyncio.ensure_future(tally.told_to_stop())},
                return_when=asyncio.FIRST_COMPLETED,
            )
            worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await worker


if __name__ == "__main__":
    main(ProcrastinateSystem(), run_async=uvloop.run)
