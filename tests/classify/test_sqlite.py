"""sqlite3 against files that are locked, full, damaged and no databases."""

import resource
import sqlite3
from contextlib import closing, contextmanager

import pytest

from holdfast.classify import classify
from holdfast.core.values.failure import Category, Severity
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of

INTERRUPTED = retried("NETWORK_TIMEOUT", known=True, blames=False)
TABLE = "create table thing (id int primary key, note text not null)"


@pytest.fixture
def thing(tmp_path):
    """A SQLite file with one row, and a connection that waits for nobody."""
    path = tmp_path / "thing.db"
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute(TABLE)
        connection.execute("insert into thing values (1, 'a')")
        yield path, connection


def sqlite_error(connection, statement, code=None):
    error = caught(connection.execute, statement)
    if code is not None:
        assert error.sqlite_errorname == code
    return error


def fill(connection):
    with connection:
        connection.execute(TABLE)
        connection.executemany(
            "insert into thing values (?, ?)", ((number, "x" * 500) for number in range(500))
        )


def test_another_writer_holds_the_file(thing):
    path, connection = thing
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("begin immediate")
        busy = sqlite_error(connection, "begin immediate", "SQLITE_BUSY")
        other.execute("rollback")
        connection.execute("begin")
        connection.execute("select * from thing")
        other.execute("insert into thing values (2, 'b')")
        stale = sqlite_error(connection, "insert into thing values (3, 'c')")

    assert row_of(busy) == rows.CONFLICT
    assert stale.sqlite_errorname == "SQLITE_BUSY_SNAPSHOT"
    assert row_of(stale) == rows.CONFLICT


def test_a_table_that_is_locked_in_a_shared_cache():
    uri = "file:shared-thing?mode=memory&cache=shared"
    with (
        closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as first,
        closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as second,
    ):
        first.execute(TABLE)
        first.execute("begin immediate")
        first.execute("insert into thing values (1, 'a')")
        error = caught(second.execute, "select * from thing")

    assert error.sqlite_errorname.startswith("SQLITE_LOCKED")
    assert row_of(error) == rows.CONFLICT


def test_a_file_that_is_full_or_may_not_be_written(thing, tmp_path):
    path, connection = thing
    connection.execute("pragma max_page_count = 2")
    full = sqlite_error(connection, f"insert into thing values (2, '{'x' * 100_000}')")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
        readonly = sqlite_error(reader, "insert into thing values (2, 'b')")
    unopenable = caught(sqlite3.connect, tmp_path / "missing" / "thing.db")

    assert full.sqlite_errorname == "SQLITE_FULL"
    assert row_of(full) == rows.IO_RETRY
    assert readonly.sqlite_errorname == "SQLITE_READONLY"
    assert row_of(readonly) == rows.IO_RETRY
    assert unopenable.sqlite_errorname == "SQLITE_CANTOPEN"
    assert row_of(unopenable) == rows.IO_RETRY


@contextmanager
def files_no_larger_than(size):
    """Lets no file of this process grow beyond `size` bytes, as a failing disk would."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def test_a_disk_that_does_not_take_what_is_written(tmp_path):
    with (
        closing(sqlite3.connect(tmp_path / "thing.db")) as connection,
        files_no_larger_than(50_000),
    ):
        error = caught(fill, connection)

    assert error.sqlite_errorname == "SQLITE_IOERR_WRITE"
    assert row_of(error) == rows.IO_RETRY


def test_a_damaged_file(tmp_path):
    path = tmp_path / "damaged.db"
    with closing(sqlite3.connect(path)) as connection:
        fill(connection)
    pages = bytearray(path.read_bytes())
    pages[4_096 * 2 : 4_096 * 20] = b"\xff" * 4_096 * 18
    path.write_bytes(pages)
    with closing(sqlite3.connect(path)) as connection:
        corrupt = caught(
            lambda: connection.execute("select sum(length(note)) from thing").fetchall()
        )
    path.write_bytes(b"this is no database, but it is long enough to look like one" * 100)
    with closing(sqlite3.connect(path)) as connection:
        foreign = caught(connection.execute, "select * from thing")

    assert corrupt.sqlite_errorname == "SQLITE_CORRUPT"
    assert foreign.sqlite_errorname == "SQLITE_NOTADB"
    for error in (corrupt, foreign):
        assert row_of(error) == rows.IO_STOP
        failure = classify(error, now=NOW)
        assert failure.category is Category.CRITICAL
        assert failure.severity is Severity.CRITICAL


def test_rows_that_do_not_fit_into_sqlite(thing):
    _, connection = thing
    connection.execute("create unique index by_note on thing (note)")
    primary = sqlite_error(
        connection, "insert into thing values (1, 'b')", "SQLITE_CONSTRAINT_PRIMARYKEY"
    )
    unique = sqlite_error(
        connection, "insert into thing values (2, 'a')", "SQLITE_CONSTRAINT_UNIQUE"
    )
    empty = sqlite_error(
        connection, "insert into thing values (2, null)", "SQLITE_CONSTRAINT_NOTNULL"
    )
    connection.execute("create table numbered (id integer primary key)")
    odd = sqlite_error(connection, "insert into numbered values ('x')", "SQLITE_MISMATCH")

    assert row_of(primary) == rows.CONFLICT_FINAL
    assert row_of(unique) == rows.CONFLICT_FINAL
    assert row_of(empty) == rows.INVALID
    assert row_of(odd) == rows.INVALID


def test_a_statement_that_is_interrupted(thing):
    _, connection = thing
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n"
    connection.set_progress_handler(lambda: 1, 1_000)

    error = sqlite_error(connection, endless, "SQLITE_INTERRUPT")

    assert row_of(error) == INTERRUPTED


def test_statements_that_sqlite_does_not_understand(thing):
    _, connection = thing
    syntax = sqlite_error(connection, "selec 1", "SQLITE_ERROR")
    counted = caught(connection.execute, "select ?, ?", [1])
    connection.close()
    closed = caught(connection.execute, "select 1")

    assert row_of(syntax) == rows.MISCONFIGURED
    assert isinstance(counted, sqlite3.ProgrammingError)
    assert row_of(counted) == rows.MISCONFIGURED
    assert row_of(closed) == rows.MISCONFIGURED
