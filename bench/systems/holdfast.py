"""holdfast itself, with all its features on."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from bench.program import Tally, main
from holdfast import Holdfast, JobContext, Pipeline, Submit
from holdfast.runtime.kernel.process_tuning import tune_process
from holdfast.workers import WorkerOptions

CONCURRENCY = 24
UNFINISHED = "state not in ('complete', 'failed', 'cancelled')"


def pipelines(tally: Tally) -> dict[str, Pipeline]:
    one = Pipeline("one")
    three = Pipeline("three")

    @one.stage
    async def only(_job: JobContext, n: int) -> None:
        tally.note(n)

    @three.stage
    async def first(_job: JobContext, n: int) -> int:
        tally.begin()
        return n

    @three.stage
    async def second(_job: JobContext, first: int) -> int:
        return first

    @three.stage
    async def third(_job: JobContext, second: int) -> None:
        tally.note(second)

    return {"one": one, "three": three}


class HoldfastSubmitter:
    def __init__(self, app: Holdfast, pipeline: Pipeline) -> None:
        self._app = app
        self._pipeline = pipeline

    @staticmethod
    def payload(n: int) -> dict[str, int]:
        return {"n": n}

    def one(self, payload: dict[str, int]) -> None:
        self._app.submit(self._pipeline, payload)

    def many(self, payloads: list[dict[str, int]]) -> None:
        self._app.submit_many(self._pipeline, [Submit(payload=payload) for payload in payloads])


class HoldfastSystem:
    @staticmethod
    def describe() -> dict[str, object]:
        return {
            "name": "holdfast",
            "version": version("holdfast"),
            "workloads": [
                "drain-one-stage",
                "drain-three-stage",
                "submit-bulk",
                "submit-single",
                "latency",
                "drain-sqlite",
                "drain-sqlite-tmpfs",
            ],
            "settings": {
                "driver": f"psycopg {version('psycopg')}, blocking",
                "handlers": "async def, on asyncio's own loop",
                "concurrency": CONCURRENCY,
                "SQLite": f"{sqlite3.sqlite_version}, journal_mode=wal, synchronous=full",
                "finished jobs": "are kept, with their ledger",
            },
            "unfinished": {
                "postgresql": f"select count(*) from holdfast.job where {UNFINISHED}",
                "sqlite": f"select count(*) from holdfast_job where {UNFINISHED}",
            },
            "finished": {
                "postgresql": "select count(*) from holdfast.job where state = 'complete'",
                "sqlite": "select count(*) from holdfast_job where state = 'complete'",
            },
        }

    @staticmethod
    def prepare(url: str) -> None:
        with Holdfast(url) as app:
            app.store.check_schema()

    @staticmethod
    @contextmanager
    def submitter(url: str, shape: str) -> Iterator[HoldfastSubmitter]:
        chosen = pipelines(Tally(expected=0))
        with Holdfast(url, pipelines=chosen.values()) as app:
            yield HoldfastSubmitter(app, chosen[shape])

    @staticmethod
    def work(url: str, _shape: str, tally: Tally) -> None:
        with Holdfast(url, pipelines=pipelines(tally).values()) as app:
            worker = app.worker(options=WorkerOptions(concurrency=CONCURRENCY))
            tune_process()  # as the command `holdfast worker` does
            worker.start()
            stop = threading.Event()
            tally.when_told_to_stop(stop.set)
            stop.wait()
            worker.request_stop()
            if worker.drain() != 0:
                raise SystemExit("the worker did not end cleanly")


if __name__ == "__main__":
    main(HoldfastSystem())
