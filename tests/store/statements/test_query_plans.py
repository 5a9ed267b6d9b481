"""The hot statements keep their index, however many jobs are finished or lie in the future."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from holdfast.core.job.event import Done, Failed, Interrupted, Suspended
from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.job.lease import lease_of
from holdfast.core.values.retention import Retention
from holdfast.store.contract import JobFilter, Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables.retention import Place, Section
from holdfast.testing.conformance.samples import (
    DRAFT,
    LEASE_US,
    NOW,
    PASSING_FAILURE,
    ROUTES,
    WORKER,
    after,
    claim,
    decided,
    new_job,
    next_id,
)
from holdfast.testing.postgres.databases import DisposableDatabases
from tests.store.conftest import by_hand, left_alone

FINISHED = 20_000
FUTURE = 20_000
DUE = 2_000
REPEATS = 12
"""Enough for PostgreSQL to consider a plan that fits all values, and for psycopg to prepare."""

FINISH = (
    "update {job} set state = 'complete', result = '1', finished_at = 1, attempt = 1, token = 1,"
    " revision = 2 where payload = '\"finished\"'"
)


@dataclass
class Crowd:
    """A store full of jobs, some of which are running or waiting."""

    store: Store
    url: str
    running: list[Job] = field(default_factory=list)

    def take(self, count: int) -> list[Job]:
        taken, self.running = self.running[:count], self.running[count:]
        return taken


def crowd(store: Store, url: str) -> Crowd:
    store.migrate()
    for start in range(0, FINISHED, 1000):
        ids = range(start, start + 1000)
        store.insert([new_job(payload='"finished"', key=f"k-{number}") for number in ids])
    for start in range(0, FUTURE, 1000):
        ids = range(start, start + 1000)
        store.insert(
            [
                new_job(
                    run_at=after(1000 + number),
                    priority=number % 4,
                    deadline_at=after(10**6) if number % 2 else None,
                )
                for number in ids
            ]
        )
    by_hand(url, FINISH)
    store.insert([new_job(priority=number % 4) for number in range(DUE)])
    running = claim(store, limit=400)
    suspended, running = running[:100], running[100:]
    store.apply([decided(job, Suspended(until=after(5))) for job in suspended])
    store.insert([new_job(deadline_at=after(-1), created_at=after(-9)) for _ in range(50)])
    by_hand(url, "analyze")
    return Crowd(store, url, running)


Operation = Callable[[Crowd], object]


def complete(crowd: Crowd) -> object:
    jobs = [job._replace(stage="send") for job in crowd.take(5)]
    return crowd.store.apply([decided(job, Done('"sent"'), now=after(1)) for job in jobs])


def retry(crowd: Crowd) -> object:
    decisions = [decided(job, Failed(PASSING_FAILURE), now=after(1)) for job in crowd.take(5)]
    return crowd.store.apply(decisions)


def apply(crowd: Crowd) -> object:
    decisions = [decided(job, Interrupted(), now=after(1)) for job in crowd.take(5)]
    return crowd.store.apply(decisions)


def renew(crowd: Crowd) -> object:
    leases = [lease_of(job) for job in crowd.running[:20]]
    return crowd.store.renew(leases, holder=WORKER, lease_us=LEASE_US, now=after(1))


def purge(crowd: Crowd) -> object:
    cutoffs = Retention(complete=0).cutoffs(after(1))
    return crowd.store.retention.purge(cutoffs, Place(Section.JOBS), limit=5)


def take(crowd: Crowd) -> object:
    due = crowd.store.due.waiting([DRAFT], limit=1, now=NOW)
    return crowd.store.due.claim(
        [job.id for job in due], route=DRAFT, holder=WORKER, lease_us=LEASE_US, now=NOW
    )


def _find(crowd: Crowd, **wanted: object) -> object:
    return crowd.store.find(JobFilter(**wanted), before=None, limit=10)


def _index(name: str) -> tuple[str, str]:
    return f"holdfast_{name}", name


# Each operation, with the index it must use: the name in SQLite, the name in PostgreSQL.
KEY_OF_ID = ("sqlite_autoindex_holdfast_job_1", "job_pkey")
OPERATIONS: dict[str, tuple[Operation, tuple[str, str]]] = {
    "claim": (lambda it: claim(it.store, limit=5), ("holdfast_job_due", "job_due")),
    "claim of nothing": (
        lambda it: claim(it.store, limit=5, now=after(-1000)),
        ("holdfast_job_due", "job_due"),
    ),
    "next_due": (lambda it: it.store.next_due(ROUTES), ("holdfast_job_due", "job_due")),
    "due_waiting": (
        lambda it: it.store.due.waiting(ROUTES, limit=5, now=NOW),
        ("holdfast_job_due", "job_due"),
    ),
    "due_claim": (take, KEY_OF_ID),
    "due_first": (
        lambda it: it.store.due.first_due_at([next_id()], route=DRAFT, now=NOW),
        KEY_OF_ID,
    ),
    "queued": (
        lambda it: it.store.queued("default", limit=100),
        ("holdfast_job_due", "job_due"),
    ),
    "complete": (complete, KEY_OF_ID),
    "retry": (retry, KEY_OF_ID),
    "apply": (apply, KEY_OF_ID),
    "renew": (renew, KEY_OF_ID),
    "expired": (
        lambda it: it.store.expired(now=after(61), after=None, limit=10),
        ("holdfast_job_leased", "job_leased"),
    ),
    "overdue": (
        lambda it: it.store.overdue(now=NOW, after=None, limit=10),
        ("holdfast_job_deadline", "job_deadline"),
    ),
    "unanswered": (
        lambda it: it.store.unanswered(now=after(6), after=None, limit=10),
        ("holdfast_job_waiting", "job_waiting"),
    ),
    "held_by": (
        lambda it: it.store.held_by(WORKER),
        ("holdfast_job_leased", "job_leased"),
    ),
    "get": (lambda it: it.store.get([job.id for job in it.running[:10]]), KEY_OF_ID),
    "find": (lambda it: it.store.find(JobFilter(), before=None, limit=10), KEY_OF_ID),
    "find queued": (lambda it: _find(it, states=(JobState.QUEUED,)), _index("job_due")),
    "find processing": (lambda it: _find(it, states=(JobState.PROCESSING,)), _index("job_leased")),
    "find waiting": (lambda it: _find(it, states=(JobState.WAITING,)), _index("job_waiting")),
    "count queued": (
        lambda it: it.store.count(JobFilter((JobState.QUEUED,)), at_most=10),
        _index("job_due"),
    ),
    "count of one owner's": (
        lambda it: it.store.count(JobFilter(tuple(ACTIVE), "letters", owner="ada"), at_most=10),
        _index("job_owner_active"),
    ),
    "queues": (lambda it: it.store.queues(now=NOW), _index("job_due")),
    "find failed": (lambda it: _find(it, states=(JobState.FAILED,)), _index("job_failed")),
    "find by error": (lambda it: _find(it, error_class="NETWORK"), _index("job_failed")),
    "find cancelled": (lambda it: _find(it, states=(JobState.CANCELLED,)), _index("job_cancelled")),
    "find of one owner's": (lambda it: _find(it, owner="ada"), _index("job_owner")),
    "find by key": (lambda it: _find(it, key="k-77"), _index("job_named")),
    "count by key": (
        lambda it: it.store.count(JobFilter(key="k-77"), at_most=10),
        _index("job_named"),
    ),
    "get of one owner's": (
        lambda it: it.store.get([job.id for job in it.running[:10]], owner="ada"),
        (KEY_OF_ID[0], "job_owner"),
    ),
    "count": (lambda it: it.store.count(JobFilter(), at_most=10), KEY_OF_ID),
    "purge": (purge, KEY_OF_ID),
    "twins": (
        lambda it: it.store.twins(owner="", pipeline="letters", key="k-77"),
        ("holdfast_job_key", "job_key"),
    ),
    "insert": (
        lambda it: it.store.insert([new_job(key="k-77", run_at=after(10**6))]),
        ("holdfast_job_key", "job_key"),
    ),
    "insert of many": (
        lambda it: it.store.insert([new_job(key=f"k-{number}") for number in range(70, 90)]),
        ("holdfast_job_key", "job_key"),
    ),
}

ALL_OF_A_STATE = {"find queued", "find processing", "find waiting", "count queued", "queues"}
"""What walks the index of a state from one end to the other, and nothing else."""

every_operation = pytest.mark.parametrize("name", OPERATIONS)


@pytest.fixture(scope="module")
def crowded_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    path = tmp_path_factory.mktemp("plans") / "holdfast.db"
    store = SqliteStore(f"sqlite:///{path}")
    yield crowd(store, f"sqlite:///{path}")
    store.close()


@pytest.fixture(scope="module")
def crowded_postgres(postgres_databases: DisposableDatabases) -> Iterator[Crowd]:
    url = postgres_databases.fresh()
    store = left_alone(PostgresStore(url, size=1), url)
    found = crowd(store, url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")
    yield found
    store.close()
    postgres_databases.use_up(url)


class TestSqlite:
    @every_operation
    def test_a_hot_statement_keeps_its_index(self, crowded_sqlite: Crowd, name: str) -> None:
        operation, (index, _) = OPERATIONS[name]
        statements = traced(crowded_sqlite, lambda: operation(crowded_sqlite))

        plans = [
            line
            for statement in statements
            for line in explained(crowded_sqlite, statement)
            if "holdfast_job" in line
        ]

        assert any(index in line for line in plans), plans
        assert not [line for line in plans if line.startswith("SCAN")] or name in {
            "held_by",  # all that is leased is little
            "find",  # walks the key from the newest down
            "count",  # the same
            *ALL_OF_A_STATE,
        }

    @pytest.mark.parametrize(
        ("state", "index"),
        [("queued", "job_due"), ("processing", "job_leased"), ("waiting", "job_waiting")],
    )
    def test_a_list_of_one_state_does_not_look_at_what_ended(
        self, crowded_sqlite: Crowd, state: str, index: str
    ) -> None:
        wanted = JobFilter(states=(JobState(state),))
        store = crowded_sqlite.store

        statements = traced(
            crowded_sqlite,
            lambda: (store.find(wanted, before=None, limit=5), store.count(wanted, at_most=5)),
        )

        plans = [" ".join(explained(crowded_sqlite, statement)) for statement in statements]
        assert [f"active USING INDEX holdfast_{index}" in plan for plan in plans] == [True, True]

    def test_the_cost_of_a_claim_does_not_grow(self, crowded_sqlite: Crowd, tmp_path: Path) -> None:
        empty = SqliteStore(f"sqlite:///{tmp_path / 'empty.db'}")
        empty.migrate()
        empty.insert([new_job(priority=number % 4) for number in range(20)])

        small = steps(empty, lambda: claim(empty, limit=5))
        large = steps(crowded_sqlite.store, lambda: claim(crowded_sqlite.store, limit=5))
        empty.close()

        assert large < 1.3 * small

    def test_finding_nothing_due_does_not_look_at_the_future(
        self, crowded_sqlite: Crowd, tmp_path: Path
    ) -> None:
        empty = SqliteStore(f"sqlite:///{tmp_path / 'empty.db'}")
        empty.migrate()
        long_ago = after(-1000)

        small = steps(empty, lambda: claim(empty, limit=5, now=long_ago))
        large = steps(
            crowded_sqlite.store, lambda: claim(crowded_sqlite.store, limit=5, now=long_ago)
        )
        empty.close()

        assert large < 1.3 * small


def traced(crowd: Crowd, operation: Callable[[], object]) -> list[str]:
    """The statements of an operation as SQLite ran them, values filled in."""
    connections = _connections(crowd.store)
    statements: list[str] = []
    for connection in connections:
        connection.set_trace_callback(statements.append)
    operation()
    for connection in connections:
        connection.set_trace_callback(None)
    return [text for text in statements if "holdfast_job" in text]


def explained(crowd: Crowd, statement: str) -> list[str]:
    rows = _connections(crowd.store)[0].execute(f"explain query plan {statement}")
    return [row[3] for row in rows]


def steps(store: SqliteStore, operation: Callable[[], object]) -> int:
    """How many steps of its virtual machine SQLite needs, in tens."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    writer = _connections(store)[0]
    operation()  # compiles its statements, which takes steps too
    writer.set_progress_handler(count, 10)
    operation()
    writer.set_progress_handler(None, 0)
    return counted[0]


def _connections(store: SqliteStore) -> list[sqlite3.Connection]:
    store.get([])
    database = store._database
    return [database._open(), *database._idle_readers]


class TestPostgres:
    @every_operation
    def test_a_hot_statement_keeps_its_index(self, crowded_postgres: Crowd, name: str) -> None:
        operation, (_, index) = OPERATIONS[name]

        read = reads(
            crowded_postgres, lambda: [operation(crowded_postgres) for _ in range(REPEATS)]
        )

        assert read["scans of the table"] == 0
        assert read[index] > 0

    @pytest.mark.parametrize("name", ["claim", "claim of nothing", "next_due", "due_waiting"])
    def test_jobs_of_the_future_are_not_looked_at(self, crowded_postgres: Crowd, name: str) -> None:
        operation, _ = OPERATIONS[name]

        read = reads(
            crowded_postgres, lambda: [operation(crowded_postgres) for _ in range(REPEATS)]
        )

        # A claim leaves the index entries of what it took until the next vacuum.
        assert read["entries of job_due"] < DUE + 5 * REPEATS


def reads(crowd: Crowd, operation: Callable[[], object]) -> dict[str, int]:
    """What the operation read: scans of the table, scans of each index, entries of job_due."""
    before = _statistics(crowd)
    operation()
    after = _statistics(crowd)
    return {name: after[name] - before[name] for name in after}


def _statistics(crowd: Crowd) -> dict[str, int]:
    with crowd.store.transaction() as connection:
        connection.execute("select pg_stat_force_next_flush()")
        stores = connection.info.backend_pid
    with psycopg.connect(crowd.url, autocommit=True) as connection:
        _wait_for_other_sessions(connection, stores)
        (scans,) = connection.execute(
            "select seq_scan from pg_stat_user_tables where relid = 'holdfast.job'::regclass"
        ).fetchone()
        indexes = connection.execute(
            "select indexrelname, idx_scan, idx_tup_read from pg_stat_user_indexes"
            " where relid = 'holdfast.job'::regclass"
        ).fetchall()
    return {
        "scans of the table": scans,
        **{name: count for name, count, _ in indexes},
        **{f"entries of {name}": entries for name, _, entries in indexes},
    }


def _wait_for_other_sessions(connection: psycopg.Connection, stores: int) -> None:
    """What a session has read may be counted only as it ends, some time after it was closed."""
    ends_at_s = time.monotonic() + 20.0
    others = (
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and backend_type = 'client backend' and pid not in (pg_backend_pid(), %s)"
    )
    while connection.execute(others, [stores]).fetchone() != (0,):
        assert time.monotonic() < ends_at_s, "other sessions have not ended"
        time.sleep(0.005)
