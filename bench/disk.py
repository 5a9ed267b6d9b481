"""How much disk a job takes on PostgreSQL: `python -m bench.disk [JOBS]`.

A private server of this machine's programs runs jobs of one and of three stages, with a payload of
about 200 bytes and results of about 50. What the tables and their indexes take is read after a
vacuum, with all jobs kept.
"""

from __future__ import annotations

import sys
import time
from typing import Final

import psycopg

from bench.machine import machine
from holdfast import Holdfast, JobFilter, JobState, Pipeline
from holdfast.testing.postgres.server import PrivatePostgres
from holdfast.workers import WorkerOptions

JOBS: Final = 20_000
PAYLOAD: Final = {"url": "https://example.org/" + "a" * 160}
RESULT: Final = {"sha256": "0" * 40}
TABLES: Final = ("job", "ledger", "checkpoint", "outbox", "delivery", "kept_key")


def pipeline(stages: int) -> Pipeline:
    """Return a pipeline of so many stages that do nothing."""
    made = Pipeline(f"stages-{stages}")
    for number in range(stages):

        async def handler(job, payload):
            del job, payload
            return RESULT

        made.stage(name=f"stage-{number + 1}")(handler)
    return made


def bytes_of(url: str) -> dict[str, int]:
    """Return what each table takes, with its indexes, after a vacuum."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")
        found = {}
        for table in TABLES:
            row = connection.execute(
                "select pg_total_relation_size(%s::regclass)", (f"holdfast.{table}",)
            ).fetchone()
            found[table] = 0 if row is None else int(row[0])
        return found


def run(url: str, made: Pipeline, jobs: int) -> None:
    """Have so many jobs of a pipeline run to their end."""
    with Holdfast(url, pipelines=[made]) as app:
        for first in range(0, jobs, 1_000):
            app.submit_many(made, [PAYLOAD] * min(1_000, jobs - first))
        worker = app.worker(options=WorkerOptions(concurrency=50))
        worker.start()
        wanted = JobFilter(pipeline=made.name, states=(JobState.QUEUED, JobState.PROCESSING))
        while app.count(wanted, at_most=1):
            time.sleep(0.2)
        worker.drain()


def main() -> None:
    """Print bytes per job, by table."""
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    for stages in (1, 3):
        with PrivatePostgres() as server:
            facts = machine(fsync=False, server_url=server.url)
            run(server.url, pipeline(stages), jobs)
            told = {name: size // jobs for name, size in bytes_of(server.url).items()}
        shown = ", ".join(f"{name} {size}" for name, size in told.items() if size)
        print(f"{facts['date']}, PostgreSQL {facts['postgresql']}, {facts['architecture']}")
        print(f"{stages} stage(s), {jobs} jobs: {sum(told.values())} bytes a job ({shown})")


if __name__ == "__main__":
    main()
