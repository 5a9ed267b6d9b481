"""Huey: a small task queue (PyPI `huey`), on its SQLite storage."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from huey import SqliteHuey

from bench.program import Tally, main

WORKERS = 1


def opened(url: str) -> SqliteHuey:
    return SqliteHuey("bench", filename=url.removeprefix("sqlite:///"), fsync=True)


class HueySubmitter:
    def __init__(self, huey: SqliteHuey) -> None:
        self._job = huey.task(name="job")(lambda _n: None)

    @staticmethod
    def payload(n: int) -> int:
        return n

    def one(self, payload: int) -> None:
        self._job(payload)

    def many(self, payloads: list[int]) -> None:
        for payload in payloads:
            self._job(payload)


class HueySystem:
    @staticmethod
    def describe() -> dict[str, object]:
        return {
            "name": "Huey",
            "version": version("huey"),
            "workloads": ["drain-sqlite", "drain-sqlite-tmpfs"],
            "settings": {
                "storage": f"SqliteHuey, SQLite {sqlite3.sqlite_version}",
                "durability": "journal_mode=wal (default), fsync=True (synchronous=FULL)",
                "worker threads": WORKERS,
                "results": "none stored: handlers return None",
                "a job taken by a worker that dies": "is lost; Huey deletes it when it is taken",
            },
            "unfinished": "select count(*) from task",
            "finished": None,
        }

    @staticmethod
    def prepare(url: str) -> None:
        opened(url).storage.close()

    @staticmethod
    @contextmanager
    def submitter(url: str, _shape: str) -> Iterator[HueySubmitter]:
        huey = opened(url)
        yield HueySubmitter(huey)
        huey.storage.close()

    @staticmethod
    def work(url: str, _shape: str, tally: Tally) -> None:
        huey = opened(url)

        @huey.task(name="job")
        def job(n: int) -> None:
            tally.note(n)

        consumer = huey.create_consumer(workers=WORKERS, worker_type="thread", periodic=False)
        consumer.start()
        stop = threading.Event()
        tally.when_told_to_stop(stop.set)
        stop.wait()
        consumer.stop(graceful=True)


if __name__ == "__main__":
    main(HueySystem())
