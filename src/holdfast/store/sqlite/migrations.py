"""How the schema of a SQLite database moves forward."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from holdfast.core.values.instant import Instant
from holdfast.store.schema import migrate
from holdfast.store.schema.system_tables import SystemTables
from holdfast.store.sqlite.connection import Database

MIGRATIONS: Final = tuple(migrate.load(__package__ or ""))
_CREATE_TABLE: Final = """
create table if not exists holdfast_migration (
    version    integer not null primary key,
    name       text    not null,
    checksum   text    not null,
    applied_at integer not null
) strict
"""
_HAS_TABLE: Final = "select 1 from sqlite_schema where name = 'holdfast_migration'"
_SELECT: Final = "select version, name, checksum from holdfast_migration order by version"
_RECORD: Final = (
    "insert into holdfast_migration (version, name, checksum, applied_at) values (?, ?, ?, ?)"
)
_HAS_SYSTEMS: Final = "select 1 from sqlite_schema where name = 'holdfast_system_migration'"
_SELECT_SYSTEM: Final = (
    "select version, name, checksum from holdfast_system_migration where system = ? "
    "order by version"
)
_RECORD_SYSTEM: Final = (
    "insert into holdfast_system_migration (system, version, name, checksum, applied_at) "
    "values (?, ?, ?, ?, ?)"
)


def by_hand(migration: migrate.Migration) -> str:
    """Return SQL that does what `migrate` does, its record of the migration included."""
    values = f"{migration.version}, '{migration.name}', '{migration.checksum}'"
    record = _RECORD.replace("?, ?, ?, ?", f"{values}, unixepoch() * 1000000")
    return f"{_CREATE_TABLE.strip()};\n\n{migration.text.rstrip()}\n\n{record};\n"


def system_by_hand(tables: SystemTables, migration: migrate.Migration) -> str:
    """Return SQL that does what `migrate` does for a migration of a system's tables."""
    text = "\n\n".join(tables.on_sqlite(migration))
    values = f"'{tables.system}', {migration.version}, '{migration.name}', '{migration.checksum}'"
    record = _RECORD_SYSTEM.replace("?, ?, ?, ?, ?", f"{values}, unixepoch() * 1000000")
    return f"{text}\n\n{record};\n"


class SqliteDialect:
    """All migrations are one write transaction: SQLite undoes changes of the schema too."""

    system: str | None = None

    def __init__(self, database: Database, read_clock: Callable[[], Instant]) -> None:
        self._database = database
        self._read_clock = read_clock
        self._transaction: sqlite3.Connection | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the write lock over all of it, so that two processes never migrate at once."""
        try:
            with self._database.transaction() as connection:
                self._transaction = connection
                connection.execute(_CREATE_TABLE)
                yield
        except sqlite3.Error as error:
            self._database.raise_named(error)
        finally:
            self._transaction = None

    def applied(self) -> list[migrate.Applied]:
        """Return what was applied."""
        if self._transaction is not None:
            return self._applied(self._transaction.cursor())
        return self._database.read(self._applied)

    def execute_in_transaction(self, migration: migrate.Migration) -> None:
        """Run the statements and record the migration."""
        connection = self._transaction
        if connection is None:
            raise AssertionError("migrations are applied inside locked()")
        for statement in self._statements(migration):
            connection.execute(statement)
        self._record(connection, migration, self._read_clock())

    def execute_one_by_one(self, migration: migrate.Migration) -> None:
        """Do the same: SQLite has no statement that refuses a transaction and belongs here."""
        self.execute_in_transaction(migration)

    def _applied(self, cursor: sqlite3.Cursor) -> list[migrate.Applied]:
        if cursor.execute(_HAS_TABLE).fetchone() is None:
            return []
        return [migrate.Applied._make(row) for row in cursor.execute(_SELECT)]

    def _statements(self, migration: migrate.Migration) -> list[str]:
        return migration.statements

    def _record(
        self, connection: sqlite3.Connection, migration: migrate.Migration, now: Instant
    ) -> None:
        values = (migration.version, migration.name, migration.checksum, now)
        connection.execute(_RECORD, values)


class SystemDialect(SqliteDialect):
    """The same for the tables of a system, whose migrations are recorded under its name."""

    def __init__(
        self, database: Database, read_clock: Callable[[], Instant], tables: SystemTables
    ) -> None:
        super().__init__(database, read_clock)
        self.system = tables.system
        self._tables = tables

    def _applied(self, cursor: sqlite3.Cursor) -> list[migrate.Applied]:
        if cursor.execute(_HAS_SYSTEMS).fetchone() is None:
            return []
        found = cursor.execute(_SELECT_SYSTEM, (self._tables.system,))
        return [migrate.Applied._make(row) for row in found]

    def _statements(self, migration: migrate.Migration) -> list[str]:
        return self._tables.on_sqlite(migration)

    def _record(
        self, connection: sqlite3.Connection, migration: migrate.Migration, now: Instant
    ) -> None:
        values = (self.system, migration.version, migration.name, migration.checksum, now)
        connection.execute(_RECORD_SYSTEM, values)
