"""What a worker writes costs in proportion to it, whatever the server believes of its tables."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from holdfast.core.job.event import Done, Event, Failed, Interrupted
from holdfast.core.job.job import Job
from holdfast.core.job.lease import lease_of
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    LEASE_US,
    PASSING_FAILURE,
    WORKER,
    after,
    claim,
    decided,
    new_job,
)
from holdfast.testing.postgres.databases import DisposableDatabases
from tests.store.conftest import left_alone
from tests.store.statements.test_query_plans import Crowd, reads

MANY = 2_000
FEW = 20


@pytest.fixture(params=["never analyzed", "analyzed while empty", "analyzed"])
def crowd(
    postgres_databases: DisposableDatabases, request: pytest.FixtureRequest
) -> Iterator[Crowd]:
    """A worker's store with many jobs, of which the server believes what it learnt at that time."""
    url = postgres_databases.fresh()
    store = left_alone(PostgresStore(url, generic_plans=True, size=1), url)
    with psycopg.connect(url, autocommit=True) as connection:
        if request.param == "analyzed while empty":
            store.insert([new_job() for _ in range(FEW)])
            connection.execute("delete from holdfast.job")
            connection.execute("analyze")
        store.insert([new_job() for _ in range(MANY)])
        if request.param == "analyzed":
            connection.execute("analyze")
    yield Crowd(store, url, claim(store, limit=FEW))
    store.close()
    postgres_databases.use_up(url)


def outcome(event: Event, *, stage: str = "draft") -> Callable[[Crowd, list[Job]], object]:
    def write(crowd: Crowd, jobs: list[Job]) -> object:
        decisions = [decided(job._replace(stage=stage), event, now=after(1)) for job in jobs]
        return crowd.store.apply(decisions)

    return write


def renew(crowd: Crowd, jobs: list[Job]) -> object:
    leases = [lease_of(job) for job in jobs]
    return crowd.store.renew(leases, holder=WORKER, lease_us=LEASE_US, now=after(1))


WRITES: dict[str, Callable[[Crowd, list[Job]], object]] = {
    "claim": lambda crowd, _: claim(crowd.store, limit=FEW),
    "renew": renew,
    "complete": outcome(Done('"sent"'), stage="send"),
    "advance": outcome(Done('"drafted"')),
    "hand back": outcome(Interrupted()),
    "retry": outcome(Failed(PASSING_FAILURE)),
    "fail": outcome(Failed(LASTING_FAILURE)),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_worker_reads_no_more_jobs_than_it_writes(crowd: Crowd, name: str) -> None:
    write = WRITES[name]

    read = reads(crowd, lambda: write(crowd, crowd.running))

    entries = {index: count for index, count in read.items() if index.startswith("entries of ")}
    assert read["scans of the table"] == 0
    # A job has an entry for each of its versions until nobody can see the older ones.
    assert max(entries.values()) <= 10 * FEW, entries
