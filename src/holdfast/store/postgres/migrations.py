"""How the schema of a PostgreSQL database moves forward."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from psycopg import errors as pg_errors
from psycopg import sql

from holdfast.errors import StoreUnavailable, UsageError
from holdfast.store.postgres.bounded import BoundedConnection, unbounded
from holdfast.store.postgres.connection import Connection
from holdfast.store.schema import migrate as runner
from holdfast.store.schema.system_tables import SystemTables

MIGRATIONS: Final = tuple(runner.load(__package__ or ""))

LOCK_TIMEOUT_MS: Final = 1_000
"""A migration that waits for a table makes everybody behind it wait; it gives way after this."""
TRIES: Final = 30
_PAUSE_S: Final = 0.3
_LOCK_EVERY_S: Final = 0.1
_LOCK_PATIENCE_S: Final = 120.0
CONCURRENT_PATIENCE_S: Final = 600.0
"""How long a step that lets others go on waits for transactions that are older than itself."""
_ADVISORY_KEY: Final = 0x686F_6C64_6661_7374
"""The letters of the name: a lock that nothing else takes by accident."""

_CREATE_TABLE: Final = """
create schema if not exists holdfast;
create table if not exists holdfast.migration (
    version    integer primary key,
    name       text    not null,
    checksum   text    not null,
    applied_at bigint  not null
)
"""
_HAS_TABLE: Final = "select to_regclass('holdfast.migration') is not null"
_SELECT: Final = "select version, name, checksum from holdfast.migration order by version"
_RECORD: Final = """
insert into holdfast.migration (version, name, checksum, applied_at)
values (%s, %s, %s, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
"""
_HAS_SYSTEMS: Final = "select to_regclass('holdfast.system_migration') is not null"
_SELECT_SYSTEM: Final = """
select version, name, checksum from holdfast.system_migration where system = %s order by version
"""
_RECORD_SYSTEM: Final = """
insert into holdfast.system_migration (system, version, name, checksum, applied_at)
values (%s, %s, %s, %s, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
"""
# An index is named without a schema where it is made, and so it is where it is dropped.
_IN_SCHEMA: Final = "create schema if not exists {system}; set local search_path = {system}, public"

_RULE_OF: Final = """
select pg_get_expr(conbin, conrelid)
  from pg_constraint
 where connamespace = 'holdfast'::regnamespace and conrelid = %s::regclass and conname = %s
"""
_SAMPLE: Final = 5

ConnectionFactory: TypeAlias = Callable[[], BoundedConnection]


def migrate(connect: ConnectionFactory, tables: Sequence[SystemTables] = ()) -> list[str]:
    """Bring the schema up to date and return the names of the migrations applied now."""
    with connect() as connection:
        known = _all(connection, tables)
        if not connection.pooled:
            return [name for each in known for name in runner.migrate(*each)]
        missing = [migration for each in known for migration in runner.pending(*each)]
    if missing:
        raise UsageError(
            f"{missing[0].name} is to be applied, and not through a pooler: the lock by which "
            "migrations take turns would not last. Migrate on a connection past it: give the "
            "server's own URL, or set HOLDFAST_DATABASE_DIRECT_URL or direct_url="
        )
    return []


def pending(connection: Connection, tables: Sequence[SystemTables] = ()) -> list[tuple[str, str]]:
    """Return name and SQL of each migration not yet applied, in order; change nothing."""
    return [
        (migration.name, _by_hand(migration, dialect.system))
        for dialect, known in _all(connection, tables)
        for migration in runner.pending(dialect, known)
    ]


def check(connection: Connection, tables: Sequence[SystemTables] = ()) -> None:
    """Raise `SchemaTooNew` or `SchemaTooOld` unless the schema is the one this code knows."""
    for dialect, known in _all(connection, tables):
        runner.check(dialect, known)


def _all(
    connection: Connection, tables: Sequence[SystemTables]
) -> list[tuple[PostgresDialect, Sequence[runner.Migration]]]:
    """Return the engine's migrations, then those of systems, each with its dialect."""
    systems = [(SystemDialect(connection, each.system), each.migrations) for each in tables]
    return [(PostgresDialect(connection), MIGRATIONS), *systems]


def _by_hand(migration: runner.Migration, system: str | None) -> str:
    """Return SQL that does what `migrate` does, its record of the migration included."""
    values = f"{migration.version}, '{migration.name}', '{migration.checksum}'"
    if system is not None:
        schema = f"begin;\n{_IN_SCHEMA.format(system=system)}"
        record = _RECORD_SYSTEM.strip().replace("%s, %s, %s, %s", f"'{system}', {values}")
        return f"{schema};\n\n{migration.text.rstrip()}\n\n{record};\ncommit;\n"
    record = _RECORD.strip().replace("%s, %s, %s", values)
    return f"{_CREATE_TABLE.strip()};\n\n{migration.text.rstrip()}\n\n{record};\n"


class PostgresDialect:
    """Migrates over one connection in autocommit, one process at a time."""

    system: str | None = None

    def __init__(
        self, connection: Connection, *, patience_s: float = CONCURRENT_PATIENCE_S
    ) -> None:
        self._connection = connection
        self._patience_s = patience_s

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold an advisory lock, which PostgreSQL frees when this connection ends.

        It is asked for again and again instead of awaited: a statement that waits holds a
        snapshot, and a concurrent index build in the other process would wait for that.
        """
        gives_up_at = time.monotonic() + _LOCK_PATIENCE_S
        while not self._fetch_bool("select pg_try_advisory_lock(%s)", _ADVISORY_KEY):
            if time.monotonic() >= gives_up_at:
                raise StoreUnavailable(
                    "the schema", reason="another process has been migrating it for minutes"
                )
            time.sleep(_LOCK_EVERY_S)
        try:
            self._connection.execute(_CREATE_TABLE)
            yield
        finally:
            if not self._connection.closed:
                self._connection.execute("select pg_advisory_unlock(%s)", [_ADVISORY_KEY])

    def applied(self) -> list[runner.Applied]:
        """Return what was applied, by version; nothing when the database is empty."""
        if not self._fetch_bool(_HAS_TABLE):
            return []
        return [runner.Applied._make(row) for row in self._connection.execute(_SELECT)]

    def execute_in_transaction(self, migration: runner.Migration) -> None:
        """Run the statements and record the migration, all or nothing.

        A lock that does not come within a second is given up, and the whole is tried again.
        """
        for attempt in range(1, TRIES + 1):
            try:
                with self._connection.transaction():
                    self._connection.execute(f"set local lock_timeout = {LOCK_TIMEOUT_MS}")
                    self._enter_schema()
                    for statement in migration.transactional_statements:
                        self._connection.execute(statement)
                    self._record(migration)
            except (pg_errors.LockNotAvailable, pg_errors.DeadlockDetected) as error:
                if attempt == TRIES:
                    raise StoreUnavailable(
                        "the schema",
                        reason=f"{migration.name} got no lock in {TRIES} tries, as long "
                        "transactions kept the tables; end them",
                    ) from error
                time.sleep(_PAUSE_S)
            else:
                return

    def execute_one_by_one(self, migration: runner.Migration) -> None:
        """Run each statement outside a transaction, then record the migration.

        Such statements let the table's users go on while they wait, so they may take their time;
        but not forever, as the transaction that they wait for may be waiting for them.
        """
        lock_ms = int(self._patience_s * 1000)
        self._connection.execute(f"set lock_timeout = {lock_ms}; set statement_timeout = 0")
        try:
            with unbounded(self._connection):
                for statement in migration.statements:
                    self._connection.execute(statement)
            self._record(migration)
        except pg_errors.CheckViolation as error:
            raise self._broken_rows(migration, error) from error
        except pg_errors.LockNotAvailable as error:
            raise StoreUnavailable(
                "the schema",
                reason=f"{migration.name} waited {self._patience_s:g} s for transactions that "
                "began before it; end them, and migrate again, outside of any",
            ) from error
        finally:
            if not self._connection.closed:
                self._connection.execute("reset lock_timeout; reset statement_timeout")

    def _broken_rows(
        self, migration: runner.Migration, error: pg_errors.CheckViolation
    ) -> UsageError:
        """Return the error that names rows which a new constraint does not allow."""
        table, constraint = error.diag.table_name or "", error.diag.constraint_name or ""
        relation = sql.Identifier("holdfast", table)
        rule = self._connection.execute(_RULE_OF, [f"holdfast.{table}", constraint]).fetchone()
        where = sql.SQL(str(rule[0])) if rule else sql.SQL("true")
        found = self._connection.execute(
            sql.SQL("select id::text from {} where not ({}) limit {}").format(
                relation, where, sql.Literal(_SAMPLE)
            )
        )
        sample = ", ".join(str(row[0]) for row in found)
        return UsageError(
            f"{migration.name} stops: rows of holdfast.{table} were changed by something else than "
            f"holdfast and break {constraint}, such as {sample}; correct or remove them, then "
            "migrate again"
        )

    def _enter_schema(self) -> None:
        """Do nothing: the engine's statements name its schema."""

    def _record(self, migration: runner.Migration) -> None:
        self._connection.execute(_RECORD, [migration.version, migration.name, migration.checksum])

    def _fetch_bool(self, query: str, *values: object) -> bool:
        row = self._connection.execute(query, values or None).fetchone()
        return row is not None and bool(row[0])


class SystemDialect(PostgresDialect):
    """The same for the tables of a system, whose migrations are recorded under its name."""

    def __init__(self, connection: Connection, system: str) -> None:
        super().__init__(connection)
        self.system: str = system

    def applied(self) -> list[runner.Applied]:
        """Return what was applied of this system."""
        if not self._fetch_bool(_HAS_SYSTEMS):
            return []
        found = self._connection.execute(_SELECT_SYSTEM, [self.system])
        return [runner.Applied._make(row) for row in found]

    def _enter_schema(self) -> None:
        # A name that `load_tables` has let through needs no quotes.
        self._connection.execute(_IN_SCHEMA.format(system=self.system).encode())

    def _record(self, migration: runner.Migration) -> None:
        values = [self.system, migration.version, migration.name, migration.checksum]
        self._connection.execute(_RECORD_SYSTEM, values)
