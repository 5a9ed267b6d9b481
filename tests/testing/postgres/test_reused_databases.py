"""Databases that one test after another uses, and that none can tell from new ones."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import psycopg
import pytest

from holdfast import Holdfast, Pipeline
from holdfast.testing import run_inline
from tests.plugins.reused_databases import MAX_BYTES, LeftOpen, ReusedDatabases

# Every test on PostgreSQL is lent such a database.
pytestmark = pytest.mark.slow

TABLES = (
    "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'holdfast'"
)


@pytest.fixture
def url(reused_databases: ReusedDatabases) -> str:
    """A database that the test itself gives back."""
    return reused_databases.lend()


def _rows(url: str) -> dict[str, int]:
    """How many rows each table has."""
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(TABLES)]
        return {
            table: connection.execute(f"select count(*) from {table}").fetchone()[0]
            for table in tables
        }


def _execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def _work(url: str) -> int:
    """Leaves a job and what belongs to it behind; returns the id of the next entry in the audit."""
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(lambda job, payload: 1)
    with Holdfast(url, pipelines=[pipeline]) as app:
        app.submit("p", {"n": 1}, key="k")
        run_inline(app)
        app.pause_queue("p", by="ada")
    with psycopg.connect(url) as connection:
        return connection.execute("select nextval('holdfast.audit_id_seq')").fetchone()[0]


def test_a_database_comes_back_without_a_row_and_counts_from_the_beginning(reused_databases, url):
    first = _work(url)

    assert reused_databases.take_back(url)
    assert reused_databases.lend() == url
    assert {table for table, rows in _rows(url).items() if rows} == {"holdfast.migration"}
    assert _work(url) == first
    assert reused_databases.take_back(url)


@pytest.mark.parametrize(
    "change",
    [
        "create table theirs (n int)",
        "create schema theirs",
        "drop table holdfast.tally",
        "alter table holdfast.job add column extra int",
        "alter table holdfast.job alter column priority set default 7",
        "alter table holdfast.job add constraint few check (priority < 900)",
        "drop index holdfast.job_due",
        "update pg_index set indisvalid = false where indexrelid = 'holdfast.job_due'::regclass",
        "create function theirs() returns int language sql as 'select 1'",
        "insert into holdfast.migration values (9999, '9999_later', 'x', 0)",
        "do $$ begin execute format('alter database %I set jit = on', current_database()); end $$",
    ],
)
def test_a_database_whose_schema_has_changed_is_not_lent_again(reused_databases, url, change):
    _execute(url, change)

    assert not reused_databases.take_back(url)


def test_a_database_that_another_process_still_uses_is_not_lent_again(reused_databases, url):
    script = "import psycopg, sys; c = psycopg.connect(sys.argv[1]); print(flush=True); input()"
    command = [sys.executable, "-c", script, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()

        assert not reused_databases.take_back(url)
        other.communicate(b"\n")


def test_a_connection_left_open_is_told_to_the_test_that_left_it(reused_databases, url):
    with psycopg.connect(url) as left_open, pytest.raises(LeftOpen, match="left open: 1"):
        reused_databases.take_back(url)

    assert left_open.closed


def test_a_database_whose_sessions_were_all_ended_is_not_lent_again(reused_databases, url):
    _execute(
        url,
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()",
    )

    assert not reused_databases.take_back(url)


def test_a_database_that_has_grown_is_not_lent_again(reused_databases, url):
    rows = MAX_BYTES // 1024
    _execute(
        url,
        "insert into holdfast.queue (name, paused_at, paused_by)"
        f" select repeat(md5(n::text), 32), 1, 'ada' from generate_series(1, {rows}) n",
    )

    assert not reused_databases.take_back(url)


def test_vacuum_and_analyze_change_nothing(reused_databases, url):
    _work(url)
    _execute(url, "vacuum (analyze)")

    assert reused_databases.take_back(url)


def test_a_database_of_each_dialect_has_the_schema_and_no_row(database_url):
    if database_url.startswith("postgresql://"):
        rows = _rows(database_url)
    else:
        path = database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("select name from sqlite_schema where type = 'table'")
            rows = {
                name: connection.execute(f"select count(*) from {name}").fetchone()[0]
                for (name,) in names.fetchall()
                if not name.startswith("sqlite_")
            }

    assert len(rows) > 10
    assert [name for name, count in rows.items() if count] in (
        ["holdfast.migration"],
        ["holdfast_migration"],
    )
