"""DBOS: durable workflows on PostgreSQL (PyPI `dbos`), without Conductor."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig

from bench.program import Tally, main

POLLING_INTERVAL_S = 0.01
WORKER_CONCURRENCY = 24
POOL_SIZE = 24
QUEUE = "bench"


class DbosSubmitter:
    def __init__(self, client: DBOSClient, engine: sqlalchemy.Engine, workflow: str) -> None:
        self._client = client
        self._engine = engine
        self._options = {"workflow_name": workflow, "queue_name": QUEUE}

    @staticmethod
    def payload(n: int) -> int:
        return n

    def one(self, payload: int) -> None:
        self._client.enqueue(self._options, payload)

    def many(self, payloads: list[int]) -> None:
        with self._engine.begin() as connection:
            for payload in payloads:
                self._client.enqueue_in_transaction(connection, self._options, payload)


class DbosSystem:
    @staticmethod
    def describe() -> dict[str, object]:
        return {
            "name": "DBOS",
            "version": version("dbos"),
            "workloads": [
                "drain-one-stage",
                "drain-three-stage",
                "submit-bulk",
                "submit-single",
                "latency",
            ],
            "settings": {
                "driver": f"psycopg {version('psycopg')}",
                "worker_concurrency": WORKER_CONCURRENCY,
                "polling_interval_sec": POLLING_INTERVAL_S,
                "sys_db_pool_size": POOL_SIZE,
                "pool_pre_ping": "off, which spares a round trip per transaction",
                "system database": "the same PostgreSQL",
                "bulk submission": "enqueue_in_transaction, one transaction per batch",
            },
            "unfinished": "select count(*) from dbos.workflow_status where status <> 'SUCCESS'",
            "finished": "select count(*) from dbos.workflow_status where status = 'SUCCESS'",
        }

    @classmethod
    def prepare(cls, url: str) -> None:
        cls._launch(url)
        DBOS.destroy()

    @staticmethod
    @contextmanager
    def submitter(url: str, shape: str) -> Iterator[DbosSubmitter]:
        engine = sqlalchemy.create_engine(
            url.replace("postgresql://", "postgresql+psycopg://"), pool_size=1
        )
        client = DBOSClient(system_database_engine=engine, application_name="bench")
        yield DbosSubmitter(client, engine, {"one": "one_step", "three": "three_steps"}[shape])
        client.destroy()
        engine.dispose()

    @classmethod
    def work(cls, url: str, _shape: str, tally: Tally) -> None:
        @DBOS.step()
        def first(n: int) -> int:
            tally.begin()
            return n

        @DBOS.step()
        def second(n: int) -> int:
            return n

        @DBOS.step()
        def last(n: int) -> None:
            tally.note(n)

        @DBOS.workflow(name="one_step")
        def one_step(n: int) -> None:
            last(n)

        @DBOS.workflow(name="three_steps")
        def three_steps(n: int) -> None:
            last(second(first(n)))

        cls._launch(url)
        stop = threading.Event()
        tally.when_told_to_stop(stop.set)
        stop.wait()
        DBOS.destroy()

    @staticmethod
    def _launch(url: str) -> None:
        config: DBOSConfig = {
            "name": "bench",
            "system_database_url": url,
            "sys_db_pool_size": POOL_SIZE,
            "log_level": "WARNING",
            "db_engine_kwargs": {"pool_pre_ping": False},
        }
        DBOS(config=config)
        DBOS.launch()
        DBOS.register_queue(
            QUEUE, worker_concurrency=WORKER_CONCURRENCY, polling_interval_sec=POLLING_INTERVAL_S
        )


if __name__ == "__main__":
    main(DbosSystem())
