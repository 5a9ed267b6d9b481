"""The statements of couriers keep their index, however many deliveries were made before."""

import sqlite3
from collections.abc import Callable, Iterator

import psycopg
import pytest

from holdfast.core.values.retention import Retention
from holdfast.store.contract import Store
from holdfast.store.postgres import statements as postgres_statements
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite import statements as sqlite_statements
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables.retention import Place, Section
from holdfast.testing.conformance.deliveries import claimed, new_delivery
from holdfast.testing.conformance.samples import NOW, after
from holdfast.testing.postgres.databases import DisposableDatabases
from tests.store.conftest import by_hand, left_alone

SENT = 20_000
FUTURE = 2_000
DUE = 500
REPEATS = 12
"""Enough for PostgreSQL to consider a plan that fits all values, and for psycopg to prepare."""

END = (
    "update {delivery} set state = 'sent', notified_at = created_at, checked_at = 1, job_told = 1,"
    " job_id = id where subject = 'sent'"
)
LOSE = "update {delivery} set holder = 'gone', lease_until = run_at where subject = 'lost'"
DOUBT = "update {delivery} set state = 'unknown' where subject = 'unknown'"
MARK = (
    "update {delivery} set state = 'sent', notified_at = created_at, job_id = id"
    " where subject = 'fresh'"
)


def crowd(store: Store, url: str) -> Store:
    store.migrate()
    rows = store.deliveries
    for _ in range(0, SENT, 1000):
        rows.ensure([new_delivery(subject="sent") for _ in range(1000)])
    by_hand(url, END)
    rows.ensure([new_delivery(run_at=after(1000)) for _ in range(FUTURE)])
    rows.ensure([new_delivery() for _ in range(DUE)])
    for subject in ("lost", "unknown", "fresh"):
        rows.ensure([new_delivery(subject=subject, run_at=after(-9)) for _ in range(50)])
    for statement in (LOSE, DOUBT, MARK, "analyze"):
        by_hand(url, statement)
    return store


Operation = Callable[[Store], object]
BY_ID = ("sqlite_autoindex_holdfast_delivery_1", "delivery_pkey")


def apply(store: Store) -> object:
    return store.deliveries.apply(
        delivery._replace(attempts=1) for delivery in claimed(store, limit=3)
    )


OLD = Retention(deliveries=0).cutoffs(after(1))

# Each operation, with the index it must use: the name in SQLite, the name in PostgreSQL.
OPERATIONS: dict[str, tuple[Operation, tuple[str, str]]] = {
    "claim": (lambda it: claimed(it, limit=5), ("holdfast_delivery_due", "delivery_due")),
    "claim of nothing": (
        lambda it: claimed(it, limit=5, now=after(-1000)),
        ("holdfast_delivery_due", "delivery_due"),
    ),
    "apply": (apply, BY_ID),
    "lost": (
        lambda it: it.deliveries.lost("mail", now=NOW, limit=5),
        ("holdfast_delivery_leased", "delivery_leased"),
    ),
    "get": (lambda it: it.deliveries.get("0190"), BY_ID),
    "get of one owner's": (lambda it: it.deliveries.get("0190", owner="ada"), BY_ID),
    "ensure": (
        lambda it: it.deliveries.ensure([new_delivery(run_at=after(1000)) for _ in range(3)]),
        ("holdfast_delivery_key", "delivery_key"),
    ),
    "of_job": (
        lambda it: it.deliveries.of_job("0190"),
        ("holdfast_delivery_job", "delivery_job"),
    ),
    "untold": (
        lambda it: it.deliveries.untold(after="0", limit=5),
        ("holdfast_delivery_at_rest", "delivery_at_rest"),
    ),
    "unchecked": (
        lambda it: it.deliveries.unchecked("mail", since=after(-9), until=NOW, limit=5),
        ("holdfast_delivery_unchecked", "delivery_unchecked"),
    ),
    "purge": (lambda it: it.retention.purge(OLD, Place(Section.DELIVERIES), limit=5), BY_ID),
    "unknown": (
        lambda it: it.deliveries.unknown("mail", until=NOW, limit=5),
        ("holdfast_delivery_unknown", "delivery_unknown"),
    ),
}

every_operation = pytest.mark.parametrize("name", OPERATIONS)


@pytest.fixture(scope="module")
def crowded_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    url = f"sqlite:///{tmp_path_factory.mktemp('plans') / 'holdfast.db'}"
    store = SqliteStore(url)
    yield crowd(store, url)
    store.close()


@pytest.fixture(scope="module")
def crowded_postgres(postgres_databases: DisposableDatabases) -> Iterator[tuple[Store, str]]:
    url = postgres_databases.fresh()
    store = left_alone(PostgresStore(url, size=1), url)
    crowd(store, url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")
    yield store, url
    store.close()
    postgres_databases.use_up(url)


@every_operation
def test_a_statement_keeps_its_index_on_sqlite(crowded_sqlite: SqliteStore, name: str) -> None:
    operation, (index, _) = OPERATIONS[name]
    writer = crowded_sqlite._database._open()
    crowded_sqlite.deliveries.get("0190")
    connections: list[sqlite3.Connection] = [writer, *crowded_sqlite._database._idle_readers]
    statements: list[str] = []
    for connection in connections:
        connection.set_trace_callback(statements.append)
    operation(crowded_sqlite)
    for connection in connections:
        connection.set_trace_callback(None)

    plans = [
        row[3]
        for statement in statements
        if "holdfast_delivery" in statement
        for row in writer.execute(f"explain query plan {statement}")
    ]

    assert any(index in line for line in plans), plans
    assert not [line for line in plans if line.startswith("SCAN") and "delivery" in line], plans


@every_operation
def test_a_statement_keeps_its_index_on_postgresql(
    crowded_postgres: tuple[Store, str], name: str
) -> None:
    (operation, (_, index)), (store, url) = OPERATIONS[name], crowded_postgres
    before = statistics(store, url)
    for _ in range(REPEATS):
        operation(store)
    after_ = statistics(store, url)

    assert after_["scans of the table"] == before["scans of the table"]
    assert after_[index] > before[index]
    if name.startswith("claim"):
        # A claim leaves the index entries of what it took until the next vacuum.
        read = after_["entries of delivery_due"] - before["entries of delivery_due"]
        assert read < DUE + 100 * REPEATS


PARTIAL = ("delivery_due", "delivery_unknown", "delivery_failed")


def test_those_who_count_read_only_what_has_not_ended_well_on_sqlite(crowded_sqlite) -> None:
    statement = sqlite_statements.SQL["delivery_standing"]
    rows = crowded_sqlite._database._open().execute(f"explain query plan {statement}").fetchall()

    read = [row[3] for row in rows if "holdfast_delivery" in row[3]]
    assert len(read) == len(PARTIAL)
    assert all(any(name in line for name in PARTIAL) for line in read), read


def test_those_who_count_read_only_what_has_not_ended_well_on_postgresql(crowded_postgres) -> None:
    # Of so small a table much is open, and reading all of it may be cheapest.
    with psycopg.connect(crowded_postgres[1], autocommit=True) as connection:
        connection.execute("set enable_seqscan = off")
        rows = connection.execute(
            f"explain {postgres_statements.SQL['delivery_standing']}"
        ).fetchall()

    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan" not in plan
    assert all(name in plan for name in PARTIAL), plan


def statistics(store: Store, url: str) -> dict[str, int]:
    with store.transaction() as connection:
        connection.execute("select pg_stat_force_next_flush()")
    table = "'holdfast.delivery'::regclass"
    with psycopg.connect(url, autocommit=True) as connection:
        (scans,) = connection.execute(
            f"select seq_scan from pg_stat_user_tables where relid = {table}"
        ).fetchone()
        indexes = connection.execute(
            "select indexrelname, idx_scan, idx_tup_read from pg_stat_user_indexes"
            f" where relid = {table}"
        ).fetchall()
    return {
        "scans of the table": scans,
        **{name: count for name, count, _ in indexes},
        **{f"entries of {name}": entries for name, _, entries in indexes},
    }
