"""Jobs that commit or roll back together with rows of the caller's own."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast.core.job.job import JobState
from holdfast.core.values.ids import JobId
from holdfast.errors import SchemaMissing, StoreUnavailable, UsageError
from holdfast.store.contract import Store
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import a_twin, claim, new_job, read, submitted


@pytest.fixture
def shared_store(shared_url: str, open_store: Callable[[str], Store]) -> Store:
    store = open_store(shared_url)
    store.migrate()
    return store


@pytest.fixture
def callers_connection(shared_store: Store, shared_url: str) -> Iterator[Any]:
    """A connection as an application has it, with a table of its own."""
    connection = _connect(shared_url)
    connection.execute("create table if not exists orders (number integer)")
    connection.execute("delete from orders")
    connection.commit()
    yield connection
    connection.close()


def _connect(url: str) -> Any:
    if url.startswith("sqlite:"):
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    return psycopg.connect(url)


def _orders(connection: Any) -> int:
    return connection.execute("select count(*) from orders").fetchone()[0]


def test_a_job_is_seen_when_the_caller_commits(
    shared_store: Store, callers_connection: Any
) -> None:
    new = new_job(key="k")
    callers_connection.execute("insert into orders values (1)")

    assert shared_store.insert([new], connection=callers_connection) == [None]
    assert shared_store.get([new.id]) == {}
    callers_connection.commit()

    assert read(shared_store, new.id) == as_stored(new)
    assert [job.id for job in claim(shared_store)] == [new.id]
    assert _orders(callers_connection) == 1


def test_a_table_that_the_caller_misses_is_not_taken_for_ours(shared_store: Store) -> None:
    """Nor is the advice to migrate given, which would not help."""
    missing = r"no such table: parcels|relation \"parcels\" does not exist"
    with (
        pytest.raises((sqlite3.Error, psycopg.Error), match=missing),
        shared_store.transaction() as connection,
    ):
        connection.execute("select * from parcels")


def test_a_schema_that_is_missing_is_named_with_what_makes_it(
    shared_url: str, open_store: Callable[[str], Store]
) -> None:
    store = open_store(shared_url)
    with closing(_connect(shared_url)) as connection:
        in_sqlite = shared_url.startswith("sqlite:")
        connection.execute(f"drop table {'holdfast_job' if in_sqlite else 'holdfast.job cascade'}")
        connection.commit()

    with pytest.raises(SchemaMissing, match="has no holdfast schema; migrate the database first"):
        store.get([JobId("0190c3c0-0000-7000-8000-000000000000")])


def test_a_job_goes_when_the_caller_rolls_back(
    shared_store: Store, callers_connection: Any
) -> None:
    new, rerun = new_job(key="k"), new_job(key="first", version=2)
    (first,) = submitted(shared_store, key="first")
    callers_connection.execute("insert into orders values (1)")
    shared_store.insert([new], connection=callers_connection)
    shared_store.insert_rerun(rerun._replace(rerun_of=first), connection=callers_connection)

    callers_connection.rollback()

    assert shared_store.get([new.id, rerun.id]) == {}
    assert _orders(callers_connection) == 0
    assert shared_store.insert([new_job(key="k")]) == [None]


def test_a_job_may_be_the_first_thing_of_a_transaction(
    shared_store: Store, callers_connection: Any
) -> None:
    kept, dropped = new_job(), new_job()

    shared_store.insert([kept], connection=callers_connection)
    callers_connection.commit()
    shared_store.insert([dropped], connection=callers_connection)
    callers_connection.rollback()

    assert set(shared_store.get([kept.id, dropped.id])) == {kept.id}


def test_a_taken_key_leaves_the_callers_rows_alone(
    shared_store: Store, callers_connection: Any
) -> None:
    (first,) = submitted(shared_store, key="k")
    callers_connection.execute("insert into orders values (1)")

    answer = shared_store.insert([new_job(key="k")], connection=callers_connection)
    callers_connection.commit()

    assert answer == [a_twin(first, 1, None, JobState.QUEUED)]
    assert _orders(callers_connection) == 1


class TestSqliteConnection:
    """What a SQLite store asks of a connection that is not its own."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "holdfast.db"

    @pytest.fixture
    def file_store(self, path: Path, open_store: Callable[[str], Store]) -> Store:
        store = open_store(f"sqlite:///{path}")
        store.migrate()
        return store

    def test_a_connection_to_another_file_is_refused(
        self, file_store: Store, tmp_path: Path
    ) -> None:
        with (
            closing(sqlite3.connect(tmp_path / "other.db")) as connection,
            pytest.raises(UsageError, match=r"other\.db.*same database"),
        ):
            file_store.insert([new_job()], connection=connection)

    def test_a_connection_to_memory_is_refused(self, file_store: Store) -> None:
        with (
            closing(sqlite3.connect(":memory:")) as connection,
            pytest.raises(UsageError, match="another database in memory"),
        ):
            file_store.insert([new_job()], connection=connection)

    def test_memory_accepts_its_own_transaction_only(
        self, open_store: Callable[[str], Store], path: Path
    ) -> None:
        store = open_store("sqlite://:memory:")
        store.migrate()

        with (
            closing(sqlite3.connect(path)) as connection,
            pytest.raises(UsageError, match="same database"),
        ):
            store.insert([new_job()], connection=connection)

    def test_something_that_is_no_connection_is_refused(self, file_store: Store) -> None:
        with pytest.raises(UsageError, match="connection is a str"):
            file_store.insert([new_job()], connection="holdfast.db")

    def test_a_connection_without_a_transaction_is_refused(
        self, file_store: Store, path: Path
    ) -> None:
        new = new_job()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            with pytest.raises(UsageError, match="BEGIN IMMEDIATE"):
                file_store.insert([new], connection=connection)

            connection.execute("begin immediate")
            assert file_store.insert([new], connection=connection) == [None]
            connection.execute("commit")

        assert set(file_store.get([new.id])) == {new.id}

    def test_the_callers_row_factory_is_left_alone(self, file_store: Store, path: Path) -> None:
        (first,) = submitted(file_store, key="k")
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = lambda _, row: {"row": row}

            (answer,) = file_store.insert([new_job(key="k")], connection=connection)

            assert answer == a_twin(first, 1, None, JobState.QUEUED)
            assert connection.execute("select 1").fetchone() == {"row": (1,)}

    def test_an_impossible_job_leaves_the_caller_free_to_go_on(
        self, file_store: Store, path: Path
    ) -> None:
        first, good = new_job(), new_job()
        with closing(sqlite3.connect(path)) as connection:
            file_store.insert([first], connection=connection)
            with pytest.raises(sqlite3.IntegrityError, match="payload"):
                file_store.insert([good, new_job(payload=None)], connection=connection)
            connection.commit()

        assert set(file_store.get([first.id, good.id])) == {first.id}

    def test_a_commit_of_the_callers_starts_no_checkpoint(
        self, file_store: Store, path: Path
    ) -> None:
        with closing(sqlite3.connect(path)) as connection:
            file_store.insert([new_job()], connection=connection)

            assert connection.execute("pragma wal_autocheckpoint").fetchone() == (0,)

    def test_a_caller_who_keeps_the_write_lock_makes_the_store_unavailable_not_stuck(
        self, path: Path, open_store: Callable[[str], Store]
    ) -> None:
        store = open_store(f"sqlite:///{path}")
        store.migrate()
        store._database._open().execute("pragma busy_timeout = 50")
        new = new_job()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("begin immediate")

            with pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
                store.insert([new])

        assert store.insert([new]) == [None]
