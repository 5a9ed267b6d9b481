"""Looking at what happened of late reads that, however much happened before."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg
import pytest

from holdfast.core.job.event import CancelRequested
from holdfast.core.values.ids import IdSequence
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.contract import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables.tail import Mark
from holdfast.testing.conformance.samples import NOW, after, after_event, claim, new_job
from holdfast.testing.postgres.databases import DisposableDatabases
from tests.store.conftest import by_hand, left_alone

BEFORE = 20_000
LATELY = 50
REPEATS = 12
"""Enough for PostgreSQL to consider a plan that fits all values, and for psycopg to prepare."""

ENTER = (
    "insert into {ledger} (job_id, revision, kind, at, state, stage, attempt{more})"
    " select id, 1, 'completed', created_at, 'complete', stage, 1{values} from {job}"
)
FINISH = (
    "update {job} set state = 'complete', result = '1', finished_at = 1, attempt = 1, token = 1,"
    " revision = 1"
)


@dataclass
class Crowd:
    """A store with a long history, and a little that happened between two marks."""

    store: Store
    url: str
    marks: list[Mark] = field(default_factory=list)


def crowd(store: Store, url: str) -> Crowd:
    store.migrate()
    long_ago = Instant(NOW - 3600 * SECOND_US)
    ids = IdSequence()
    for start in range(0, BEFORE, 1000):
        made = [ids.next(now=long_ago, chance=number) for number in range(start, start + 1000)]
        store.insert([new_job(id=job_id, created_at=long_ago) for job_id in made])
    numbered = url.startswith("sqlite:")
    more = ", position" if numbered else ""
    values = ", row_number() over (order by id)" if numbered else ""
    by_hand(url, ENTER.replace("{more}", more).replace("{values}", values))
    by_hand(url, FINISH)
    by_hand(url, "analyze")
    found = Crowd(store, url)
    found.marks.append(store.tail.mark(lambda: NOW))
    return found


def something_happens(crowd: Crowd) -> None:
    store = crowd.store
    store.insert([new_job(run_at=NOW) for _ in range(LATELY)])
    for job in claim(store, limit=LATELY // 2):
        after_event(store, job, CancelRequested("ada", None))
    claim(store, limit=LATELY // 4)
    crowd.marks.append(store.tail.mark(lambda: after(1)))


Look = Callable[[Store, Mark, Mark], list[object]]
LOOKS: dict[str, tuple[Look, tuple[str, str], int]] = {
    "entries": (
        lambda store, since, until: store.tail.entries(since, until, after=None, limit=500),
        ("holdfast_ledger_position", "ledger_xact"),
        LATELY // 2,
    ),
    "begun": (
        lambda store, since, _: store.tail.begun(since=since.at),
        ("holdfast_job_leased", "job_leased"),
        LATELY // 4,
    ),
    "whose": (
        lambda store, since, until: list(
            store.tail.whose(
                [line.job_id for _, line in store.tail.entries(since, until, after=None, limit=9)]
            )
        ),
        ("sqlite_autoindex_holdfast_job_1", "job_pkey"),
        9,
    ),
    "jobs": (
        lambda store, since, until: store.tail.jobs(since, until, after=None, limit=500),
        ("INTEGER PRIMARY KEY", "job_pkey"),
        LATELY,
    ),
}
every_look = pytest.mark.parametrize("name", LOOKS)


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    url = f"sqlite:///{tmp_path_factory.mktemp('tail') / 'holdfast.db'}"
    store = SqliteStore(url)
    found = crowd(store, url)
    something_happens(found)
    yield found
    store.close()


@pytest.fixture(scope="module")
def on_postgres(postgres_databases: DisposableDatabases) -> Iterator[Crowd]:
    url = postgres_databases.fresh()
    store = left_alone(PostgresStore(url, size=1), url)
    found = crowd(store, url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")  # which also summarizes what the index leads to
    something_happens(found)
    yield found
    store.close()
    postgres_databases.use_up(url)


@every_look
def test_a_look_keeps_its_index_on_sqlite(on_sqlite: Crowd, name: str) -> None:
    look, (index, _), expected = LOOKS[name]
    store = on_sqlite.store
    store.get([])
    readers: list[sqlite3.Connection] = list(store._database._idle_readers)
    statements: list[str] = []
    for connection in readers:
        connection.set_trace_callback(statements.append)
    found = look(store, *on_sqlite.marks)
    for connection in readers:
        connection.set_trace_callback(None)
    plans = [
        row[3]
        for statement in statements
        for row in readers[0].execute(f"explain query plan {statement}")
    ]

    assert len(found) == expected
    assert any(index in line for line in plans), plans
    scanned = [line for line in plans if line.startswith("SCAN holdfast")]
    assert not [line for line in scanned if index not in line], plans


@every_look
def test_a_look_keeps_its_index_on_postgresql(on_postgres: Crowd, name: str) -> None:
    look, (_, index), expected = LOOKS[name]
    before = statistics(on_postgres)
    found = [look(on_postgres.store, *on_postgres.marks) for _ in range(REPEATS)]
    after_ = statistics(on_postgres)

    assert {len(each) for each in found} == {expected}
    assert after_["scans of tables"] == before["scans of tables"]
    assert after_[index] > before[index]


def statistics(crowd: Crowd) -> dict[str, int]:
    with crowd.store.transaction() as connection:
        connection.execute("select pg_stat_force_next_flush()")
    tables = "relid in ('holdfast.job'::regclass, 'holdfast.ledger'::regclass)"
    with psycopg.connect(crowd.url, autocommit=True) as connection:
        (scans,) = connection.execute(
            f"select sum(seq_scan) from pg_stat_user_tables where {tables}"
        ).fetchone()
        indexes = connection.execute(
            f"select indexrelname, idx_scan from pg_stat_user_indexes where {tables}"
        ).fetchall()
    return {"scans of tables": scans, **dict(indexes)}
