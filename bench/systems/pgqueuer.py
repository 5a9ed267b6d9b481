"""PgQueuer: PostgreSQL queue for asyncio (PyPI `pgqueuer`), on asyncpg and uvloop."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.program import Tally, main


class PgQueuerSubmitter:
    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    @staticmethod
    def payload(n: int) -> bytes:
        return json.dumps({"n": n}).encode()

    async def one(self, payload: bytes) -> None:
        await self._queries.enqueue("job", payload)

    async def many(self, payloads: list[bytes]) -> None:
        await self._queries.enqueue(["job"] * len(payloads), payloads, [0] * len(payloads))


class PgQueuerSystem:
    def __init__(
        self, name: str, *, dequeuers: int, batch_size: int, workloads: Sequence[str]
    ) -> None:
        self._name = name
        self._dequeuers = dequeuers
        self._batch_size = batch_size
        self._workloads = workloads

    def describe(self) -> dict[str, object]:
        return {
            "name": self._name,
            "version": version("pgqueuer"),
            "workloads": self._workloads,
            "settings": {
                "driver": f"asyncpg {version('asyncpg')} on uvloop, one connection per dequeuer",
                "dequeuers in the one process": self._dequeuers,
                "batch_size": self._batch_size,
                "max_concurrent_tasks": "unlimited",
                "durability": "durable (default)",
                "autovacuum": "as set by `pgq autovac`",
            },
            "unfinished": "select count(*) from pgqueuer",
            "finished": "select count(*) from pgqueuer_log where status = 'successful'",
        }

    @staticmethod
    async def prepare(url: str) -> None:
        connection = await asyncpg.connect(url)
        queries = Queries(AsyncpgDriver(connection))
        await queries.install()
        await queries.optimize_autovacuum()
        await connection.close()

    @staticmethod
    @asynccontextmanager
    async def submitter(url: str, _shape: str) -> AsyncIterator[PgQueuerSubmitter]:
        connection = await asyncpg.connect(url)
        yield PgQueuerSubmitter(Queries(AsyncpgDriver(connection)))
        await connection.close()

    async def work(self, url: str, _shape: str, tally: Tally) -> None:
        async with AsyncExitStack() as stack:
            dequeuers = []
            for _ in range(self._dequeuers):
                connection = await asyncpg.connect(url)
                stack.push_async_callback(connection.close)
                dequeuers.append(PgQueuer(AsyncpgDriver(connection)))
            for dequeuer in dequeuers:

                @dequeuer.entrypoint("job")
                async def job(job: Job) -> None:
                    tally.note(json.loads(job.payload)["n"])

            running = asyncio.gather(
                *(dequeuer.qm.run(batch_size=self._batch_size) for dequeuer in dequeuers)
            )
            await asyncio.wait(
                {running, asyncio.ensure_future(tally.told_to_stop())},
                return_when=asyncio.FIRST_COMPLETED,
            )
            for dequeuer in dequeuers:
                dequeuer.shutdown.set()
            await running


if __name__ == "__main__":
    main(
        PgQueuerSystem(
            "PgQueuer",
            dequeuers=1,
            batch_size=500,
            workloads=["drain-one-stage", "submit-bulk", "submit-single", "latency"],
        ),
        run_async=uvloop.run,
    )
