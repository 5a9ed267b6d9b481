import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from holdfast.core.job.event import Done
from holdfast.errors import SchemaTooNew, SchemaTooOld, UsageError
from holdfast.store.contract import Store
from holdfast.store.postgres import migrations as postgres_migrations
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.migrations import PostgresDialect
from holdfast.store.schema import migrate as runner
from holdfast.store.schema.migrate import Migration
from holdfast.store.sqlite.connection import Database
from holdfast.store.sqlite.migrations import MIGRATIONS as SQLITE_MIGRATIONS
from holdfast.store.sqlite.migrations import SqliteDialect
from holdfast.testing.conformance.samples import after_event, claim, submitted
from tests.store.conftest import by_hand, script_by_hand
from tests.warm.process import WarmProcess, run

FIRST = "0001_foundation"
LAST = len(SQLITE_MIGRATIONS)
STARTERS = 8

START = """
import sys
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite.store import SqliteStore
url = sys.argv[1]
store = SqliteStore(url) if url.startswith("sqlite:") else PostgresStore(url)
print("ready", flush=True)
sys.stdin.readline()
print(",".join(store.migrate()))
store.check_schema()
store.close()
"""


@pytest.fixture
def empty_store(empty_database_url: str, open_store: Callable[[str], Store]) -> Store:
    return open_store(empty_database_url)


def test_a_new_database_is_migrated_once(empty_store: Store) -> None:
    assert empty_store.migrate()[0] == FIRST
    assert empty_store.migrate() == []


def test_what_is_pending_is_shown_and_nothing_is_changed(
    empty_store: Store, empty_database_url: str
) -> None:
    pending = empty_store.pending_migrations()

    assert pending[0][0] == FIRST
    assert "create table" in pending[0][1]
    assert empty_store.pending_migrations() == pending
    with pytest.raises(SchemaTooOld) as caught:
        empty_store.check_schema()
    assert (caught.value.found, caught.value.needed) == (0, LAST)


def test_what_is_pending_may_be_run_by_hand(empty_store: Store, empty_database_url: str) -> None:
    for _, text in empty_store.pending_migrations():
        script_by_hand(empty_database_url, text)

    empty_store.check_schema()
    assert empty_store.migrate() == []


def test_using_a_database_without_a_schema_says_what_to_do(empty_store: Store) -> None:
    with pytest.raises(UsageError, match="migrate the database first"):
        submitted(empty_store)


@pytest.mark.slow
def test_many_processes_may_start_on_an_empty_database_at_once(empty_database_url: str) -> None:
    command = [sys.executable, "-c", START, empty_database_url]
    processes = [
        WarmProcess(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(STARTERS)
    ]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * STARTERS
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=50)[0].strip() for process in processes]

    assert [process.returncode for process in processes] == [0] * STARTERS
    assert max(outputs).startswith(FIRST)
    assert outputs.count("") == STARTERS - 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_migration_killed_before_any_statement_is_run_again(
    empty_database_url: str, step: int
) -> None:
    script = Path(__file__).with_name("killed_migration.py")

    finished = run(
        [sys.executable, script, empty_database_url, str(step)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    tries = [line.split() for line in finished.stdout.splitlines()]
    assert len(tries) > len(SQLITE_MIGRATIONS[0].statements) / step
    left_behind = {int(tables) for _, tables, _ in tries}
    # Nothing, the table of migrations alone, or whole migrations: never a part of one.
    made = [migration.text.count("create table ") for migration in SQLITE_MIGRATIONS]
    assert left_behind <= {0, *itertools.accumulate(made, initial=1)}
    names = [migration.name for migration in SQLITE_MIGRATIONS]
    rest = {",".join(names[done:]) or "nothing" for done in range(len(names) + 1)}
    assert {applied for _, _, applied in tries} <= rest


def test_a_newer_schema_is_refused(empty_store: Store, empty_database_url: str) -> None:
    empty_store.migrate()
    by_hand(empty_database_url, "insert into {migration} values (999, '0999_later', 'x', 0)")

    for refusing in (empty_store.check_schema, empty_store.migrate, empty_store.pending_migrations):
        with pytest.raises(SchemaTooNew, match="upgrade holdfast") as caught:
            refusing()
        assert (caught.value.found, caught.value.supported) == (999, LAST)


def test_an_applied_migration_whose_text_changed_is_refused(
    empty_store: Store, empty_database_url: str
) -> None:
    empty_store.migrate()
    by_hand(empty_database_url, "update {migration} set checksum = 'edited' where version = 1")

    for refusing in (empty_store.check_schema, empty_store.migrate):
        with pytest.raises(UsageError, match=f"{FIRST} was applied .* with another text"):
            refusing()


def test_a_migration_is_recorded_with_its_time(empty_store: Store, empty_database_url: str) -> None:
    before = empty_store.read_clock()
    empty_store.migrate()

    ((version, name, applied_at),) = by_hand(
        empty_database_url, "select version, name, applied_at from {migration} where version = 1"
    )

    assert (version, name) == (1, FIRST)
    assert before <= applied_at <= empty_store.read_clock()


def test_statements_end_with_a_semicolon_at_the_end_of_a_line() -> None:
    text = """-- concurrently
-- A comment; with a semicolon.
create index a
    on b (c);

create function d() returns void language sql as $$
    select 1;
$$;
drop table e;
"""
    migration = Migration(2, "0002_x", text)

    assert migration.concurrent
    assert [statement.split()[1] for statement in migration.statements] == [
        "index",
        "function",
        "table",
    ]


def test_a_file_that_breaks_off_is_refused() -> None:
    with pytest.raises(ValueError, match="0002_x ends without a semicolon"):
        Migration(2, "0002_x", "create table a (b integer)").statements  # noqa: B018


class TestNextMigration:
    """A second migration, on databases that already have the first and jobs in it."""

    @pytest.fixture
    def database(self, tmp_path: Path) -> Database:
        database = Database(f"sqlite:///{tmp_path / 'holdfast.db'}")
        yield database
        database.close()

    @pytest.fixture
    def sqlite_dialect(self, database: Database) -> SqliteDialect:
        return SqliteDialect(database, lambda: 0)

    @pytest.fixture
    def connection(self, empty_postgres_url: str) -> psycopg.Connection:
        with Connections(empty_postgres_url, name="test", size=1).connect() as connection:
            runner.migrate(PostgresDialect(connection), postgres_migrations.MIGRATIONS)
            yield connection

    def test_a_failing_migration_leaves_nothing_of_itself_on_sqlite(self, sqlite_dialect) -> None:
        runner.migrate(sqlite_dialect, SQLITE_MIGRATIONS)
        broken = Migration(LAST + 1, "9_x", "create table extra (a integer) strict;\nbroken;\n")

        with pytest.raises(Exception, match="syntax error"):
            runner.migrate(sqlite_dialect, [*SQLITE_MIGRATIONS, broken])

        assert len(sqlite_dialect.applied()) == LAST
        fixed = broken._replace(text="create table extra (a integer) strict;\n")
        assert runner.migrate(sqlite_dialect, [*SQLITE_MIGRATIONS, fixed]) == ["9_x"]

    def test_a_failing_migration_leaves_nothing_of_itself_on_postgres(self, connection) -> None:
        dialect, known = PostgresDialect(connection), postgres_migrations.MIGRATIONS
        broken = Migration(LAST + 1, "9_x", "create table holdfast.extra (a integer);\nbroken;\n")

        with pytest.raises(psycopg.errors.SyntaxError):
            runner.migrate(dialect, [*known, broken])

        assert len(dialect.applied()) == LAST
        fixed = broken._replace(text="create table holdfast.extra (a integer);\n")
        assert runner.migrate(dialect, [*known, fixed]) == ["9_x"]

    def test_an_index_may_be_built_without_stopping_the_table(self, connection) -> None:
        dialect, known = PostgresDialect(connection), postgres_migrations.MIGRATIONS
        concurrent = Migration(
            LAST + 1,
            "9_x",
            "-- concurrently\n"
            "drop index concurrently if exists holdfast.extra;\n"
            "create index concurrently extra on holdfast.job (owner);\n",
        )
        # What a build that was killed leaves behind: an index that is there and of no use.
        connection.execute("create index extra on holdfast.job (owner)")
        connection.execute(
            "update pg_index set indisvalid = false where indexrelid = 'holdfast.extra'::regclass"
        )

        assert runner.migrate(dialect, [*known, concurrent]) == ["9_x"]
        assert connection.execute(
            "select indisvalid from pg_index where indexrelid = 'holdfast.extra'::regclass"
        ).fetchone() == (True,)
        assert connection.execute("show statement_timeout").fetchone() == ("30s",)

    def test_a_migration_gives_way_to_the_users_of_a_table(
        self, connection, empty_postgres_url: str
    ) -> None:
        adding = Migration(LAST + 1, "9_x", "alter table holdfast.job add column extra integer;\n")
        with (
            psycopg.connect(empty_postgres_url) as user,
            psycopg.connect(empty_postgres_url, autocommit=True) as other,
        ):
            user.execute("select count(*) from holdfast.job")
            known = postgres_migrations.MIGRATIONS
            migrating = threading.Thread(
                target=runner.migrate, args=(PostgresDialect(connection), [*known, adding])
            )
            migrating.start()
            waits_s = []
            begun = time.monotonic()
            while time.monotonic() - begun < 2.5:
                asked = time.monotonic()
                other.execute("select count(*) from holdfast.job")
                waits_s.append(time.monotonic() - asked)
            user.rollback()
            migrating.join(30)

        assert max(waits_s) > 0.5, "the migration never stood in the way; the test proves nothing"
        assert max(waits_s) < 2.0
        assert len(PostgresDialect(connection).applied()) == LAST + 1

    def test_workers_go_on_while_a_sqlite_file_is_migrated(
        self, database, sqlite_dialect, open_store
    ) -> None:
        worker = open_store(database.location.url)
        worker.migrate()
        submitted(worker, 3)
        before = claim(worker, limit=1)
        adding = Migration(LAST + 1, "9_x", "alter table holdfast_job add column extra integer;\n")

        assert runner.migrate(sqlite_dialect, [*SQLITE_MIGRATIONS, adding]) == ["9_x"]

        after_event(worker, before[0], Done('"x"'))
        assert len(claim(worker)) == 3
        with pytest.raises(SchemaTooNew):
            worker.check_schema()

    def test_workers_go_on_while_postgres_is_migrated(
        self, connection, empty_postgres_url: str, open_store
    ) -> None:
        worker = open_store(empty_postgres_url)
        submitted(worker, 3)
        before = claim(worker, limit=1)
        adding = Migration(LAST + 1, "9_x", "alter table holdfast.job add column extra integer;\n")
        known = postgres_migrations.MIGRATIONS

        assert runner.migrate(PostgresDialect(connection), [*known, adding]) == ["9_x"]

        after_event(worker, before[0], Done('"x"'))
        assert len(claim(worker)) == 3
        with pytest.raises(SchemaTooNew):
            worker.check_schema()
