"""The store on SQLite 3.40 and later: a file for one machine, or memory."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from holdfast.core.job.decision import Decision
from holdfast.core.job.job import MAX_URGENT, Job, WorkerId
from holdfast.core.job.lease import Lease
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant, later
from holdfast.errors import ConstraintViolated, StatementRefused, StoreCorrupt
from holdfast.store.contract import (
    Checkpoint,
    ExistingJob,
    JobFilter,
    Listener,
    NewJob,
    Topic,
    Violation,
    counting,
    is_active,
)
from holdfast.store.parts import Parts
from holdfast.store.rows import (
    claimed_jobs,
    job_from_row,
    twin_from_row,
)
from holdfast.store.schema import migrate
from holdfast.store.schema.migrate import Migration
from holdfast.store.schema.system_sql import Ran, Value, statement
from holdfast.store.schema.system_tables import SystemTables
from holdfast.store.sqlite import borrowed, faults, writes
from holdfast.store.sqlite.connection import WRITE_TIMEOUT_S, Database
from holdfast.store.sqlite.job_filter import filter_values
from holdfast.store.sqlite.listener import SqliteListener
from holdfast.store.sqlite.migrations import (
    MIGRATIONS,
    SqliteDialect,
    SystemDialect,
    by_hand,
    system_by_hand,
)
from holdfast.store.sqlite.narrowing import narrowed
from holdfast.store.sqlite.statements import SQL
from holdfast.store.sqlite.steps import SqliteSql
from holdfast.store.statements.timing import Timings, timed
from holdfast.store.tables.outbox import any_publishes

FIRST_SOUND_VERSION: Final = (3, 51, 3)
"""Before it, SQLite may corrupt a file when connections that are not ours write and checkpoint."""
_SAMPLE: Final = 5
_SOUNDNESS: Final = "verify_database_is_sound"


class SqliteStore(Parts):
    """Jobs in the tables `holdfast_…` of a SQLite database."""

    writes_at_once = False

    def __init__(self, url: str, *, write_timeout_s: float = WRITE_TIMEOUT_S) -> None:
        self.timings = Timings()
        self._attach(Database(url, write_timeout_s=write_timeout_s), owned=True)

    def _attach(self, database: Database, *, owned: bool) -> None:
        self.url = database.location.url
        self._database = database
        self._owned = owned
        self._make_parts(SqliteSql(database), messages_added=self._messages_added)

    def migrate(self) -> list[str]:
        """Bring the schema up to date and return the names of the migrations applied now."""
        return [name for each in self._schemas() for name in migrate.migrate(*each)]

    def pending_migrations(self) -> list[tuple[str, str]]:
        """Return name and SQL of each migration not yet applied."""
        missing = migrate.pending(self._dialect(), MIGRATIONS)
        return [
            *((migration.name, by_hand(migration)) for migration in missing),
            *(
                (migration.name, system_by_hand(tables, migration))
                for tables in self.tables
                for migration in migrate.pending(self._system(tables), tables.migrations)
            ),
        ]

    def check_schema(self) -> None:
        """Raise `SchemaTooNew` or `SchemaTooOld` unless the schema is the one this code knows."""
        for dialect, known in self._schemas():
            migrate.check(dialect, known)

    def _schemas(self) -> list[tuple[SqliteDialect, Sequence[Migration]]]:
        """Return the engine's migrations, then those of systems, each with its dialect."""
        systems = [(self._system(each), each.migrations) for each in self.tables]
        return [(self._dialect(), MIGRATIONS), *systems]

    def _system(self, tables: SystemTables) -> SqliteDialect:
        return SystemDialect(self._database, self.read_clock, tables)

    def _dialect(self) -> SqliteDialect:
        return SqliteDialect(self._database, self.read_clock)

    def reserve(self, name: str) -> SqliteStore:  # noqa: ARG002 - connections here bear no names
        """Return a store on the same connections: one process has one that writes.

        Nobody is starved, because every turn to write is short and readers wait for nobody.
        """
        reserved = SqliteStore.__new__(SqliteStore)
        reserved.timings = self.timings
        reserved._attach(self._database, owned=False)  # noqa: SLF001 - its own class
        return reserved

    def close(self) -> None:
        """Close every connection; those of a reserved store belong to the store it came from."""
        if self._owned:
            self._database.close()

    def read_clock(self) -> Instant:
        """Return the system's time: SQLite has no clock of its own."""
        return Instant(time.time_ns() // 1000)  # noqa: TID251 - the store's clock is read here

    def listen(self, topic: Topic = "due") -> Listener:  # noqa: ARG002 - each commit is heard
        """Return a listener of its own connection, which hears of everything."""
        return SqliteListener(self._database)

    def announce_due(self) -> None:
        """Wake the listeners of this process; those of others see the commit itself."""
        self._database.wake()

    def _messages_added(self, rows: Sequence[tuple[Any, ...]], connection: object) -> None:
        """Wake the relays of this process, unless the messages are yet to be committed."""
        if rows and connection is None:
            self._database.wake()

    @timed
    def insert(
        self, jobs: Sequence[NewJob], *, connection: object = None
    ) -> list[ExistingJob | None]:
        """Store new jobs, all or none; per job None, or the twin that already holds its key."""
        if not jobs:
            return []
        if connection is not None:
            with borrowed.inside(self._database, connection) as cursor:
                return writes.insert(cursor, jobs)
        twins = self._database.write(lambda cursor: writes.insert(cursor, jobs))
        self._database.wake()
        return twins

    def insert_rerun(self, job: NewJob, *, connection: object = None) -> ExistingJob | None:
        """Store a rerun unless a job of its key has its version or a higher."""
        if connection is not None:
            with borrowed.inside(self._database, connection) as cursor:
                return writes.insert_rerun(cursor, job)
        twin = self._database.write(lambda cursor: writes.insert_rerun(cursor, job))
        self._database.wake()
        return twin

    def twins(
        self, *, owner: str, pipeline: str, key: str, connection: object = None
    ) -> list[ExistingJob]:
        """Return every job of that key, the lowest version first."""
        values = {"owner": owner, "pipeline": pipeline, "key": key}
        if connection is None:
            return [twin_from_row(row) for row in self._rows("twins", values)]
        with borrowed.inside(self._database, connection) as cursor:
            return [twin_from_row(row) for row in cursor.execute(SQL["twins"], values)]

    @timed
    def claim(
        self,
        routes: Sequence[Route],
        *,
        limit: int,
        holder: WorkerId,
        lease_us: int,
        now: Instant,
        first: int = MAX_URGENT,
    ) -> list[Job]:
        """Lease up to `limit` due jobs of `routes`, most urgent first, then longest due."""
        lease_until = later(now, lease_us)
        terms = {"holder": holder, "now": now, "lease_until": lease_until}
        rows = self._database.write(
            lambda cursor: writes.claim(cursor, routes, limit=limit, first=first, terms=terms)
        )
        return claimed_jobs(rows, holder=holder, lease_until=lease_until, now=now)

    def next_due(self, routes: Sequence[Route]) -> Instant | None:
        """Return when the next queued job of `routes` is due, or None when there is none."""

        def look(cursor: sqlite3.Cursor) -> Instant | None:
            firsts = [
                cursor.execute(SQL["next_due"], lane).fetchone()
                for lane in writes.lanes(cursor, routes)
            ]
            return min((row[0] for row in firsts if row is not None), default=None)

        return self._database.read(look)

    @timed
    def renew(
        self, leases: Collection[Lease], *, holder: WorkerId, lease_us: int, now: Instant
    ) -> set[Lease]:
        """Extend leases to `now + lease_us`; return those still held."""
        if not leases:
            return set()
        lease_until = later(now, lease_us)

        def extend(cursor: sqlite3.Cursor) -> set[Lease]:
            return {
                lease
                for lease in leases
                if cursor.execute(SQL["renew"], (lease_until, *lease, holder)).rowcount == 1
            }

        return self._database.write(extend)

    @timed
    def apply(self, decisions: Sequence[Decision], *, connection: object = None) -> set[JobId]:
        """Write decisions in one transaction; return the ids whose revision still matched."""
        if not decisions:
            return set()
        if connection is not None:
            with borrowed.inside(self._database, connection) as cursor:
                return writes.apply(cursor, decisions)
        applied = self._database.write(lambda cursor: writes.apply(cursor, decisions))
        if any_publishes(decisions):
            self._database.wake()
        return applied

    @timed
    def get(self, job_ids: Collection[JobId], *, owner: str | None = None) -> dict[JobId, Job]:
        """Return the jobs of those ids that exist; with `owner`, and belong to it."""
        ids = json.dumps(list(job_ids))
        if owner is None:
            return {job.id: job for job in self._jobs("get", {"ids": ids})}
        return {job.id: job for job in self._jobs("get_owned", {"ids": ids, "owner": owner})}

    @timed
    def find(self, wanted: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        """Return matching jobs, newest id first, from those below `before`."""
        statement = "find_active" if is_active(wanted) else "find"
        values = {**filter_values(wanted), "before": before, "limit": limit}
        return [job_from_row(row) for row in self._found(statement, values)]

    def count(self, wanted: JobFilter, *, at_most: int) -> int:
        """Return how many jobs match; no more than `at_most` are counted."""
        values = {**filter_values(wanted), "limit": at_most}
        return int(self._found(counting(wanted), values)[0][0])

    def checkpoints(self, job_ids: Collection[JobId]) -> list[Checkpoint]:
        """Return the checkpoints of those jobs' current runs."""
        rows = self._rows("checkpoints", {"ids": json.dumps(list(job_ids))})
        return [Checkpoint._make(row) for row in rows]

    def verify(self, *, now: Instant) -> list[Violation]:
        """Check the invariants that plain SQL can check; read only."""
        try:
            unsound = self._violation(_SOUNDNESS, now)
        except StoreCorrupt as error:
            # So much is damaged that not even the check can be finished.
            promise = SQL[_SOUNDNESS].splitlines()[0].partition(":")[2].strip()
            invariant = _SOUNDNESS.removeprefix("verify_")
            return [Violation(invariant, promise, 1, (error.reason,))]
        if unsound is not None:
            return [unsound]  # what else a damaged file says means nothing
        names = [name for name in SQL.names() if name.startswith("verify_")]
        found = [self._violation(name, now) for name in names if name != _SOUNDNESS]
        return [violation for violation in found if violation is not None]

    def _violation(self, statement: str, now: Instant) -> Violation | None:
        ids = [str(row[0]) for row in self._rows(statement, {"now": now})]
        if not ids:
            return None
        promise = SQL[statement].splitlines()[0].partition(":")[2].strip()
        invariant = statement.removeprefix("verify_")
        return Violation(invariant, promise, len(ids), tuple(ids[:_SAMPLE]))

    def facts(self) -> dict[str, str]:
        """Return what `doctor` shows."""

        def read(cursor: sqlite3.Cursor) -> dict[str, str]:
            settings = ("journal_mode", "synchronous", "page_size", "page_count")
            return {name: str(cursor.execute(f"pragma {name}").fetchone()[0]) for name in settings}

        applied = self._dialect().applied()
        return {
            "product": "SQLite",
            "version": sqlite3.sqlite_version,
            "sound_with_foreign_writers": str(
                sqlite3.sqlite_version_info >= FIRST_SOUND_VERSION
            ).lower(),
            "schema": str(max((row.version for row in applied), default=0)),
            **self._database.read(read),
        }

    @contextmanager
    def transaction(self, *, one_statement: bool = False) -> Iterator[Any]:  # noqa: ARG002 - the same here
        """Open a transaction of the store's own and yield its connection, for `connection=`."""
        try:
            with self._database.transaction() as connection:
                yield connection
        except sqlite3.Error as error:
            self._database.raise_named(error)
        self._database.wake()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Lend a connection for `run_statement` that sees what is committed, and does not write."""
        try:
            with self._database.reading() as connection:
                yield connection
        except sqlite3.Error as error:
            self._database.raise_named(error)

    def run_statement(self, text: str, values: Mapping[str, Value], *, connection: object) -> Ran:
        """Run a statement of a system in a transaction that is open on `connection`."""
        prepared = statement(text, systems=[each.system for each in self.tables])
        given = prepared.checked(values)
        try:
            with borrowed.inside(self._database, connection) as cursor:
                found = cursor.execute(prepared.sqlite, given)
                columns = [column[0] for column in found.description or ()]
                rows = [dict(zip(columns, row, strict=True)) for row in found]
                return Ran(rows, max(found.rowcount, 0))
        except sqlite3.IntegrityError as error:
            raise ConstraintViolated(reason=str(error)) from error
        except sqlite3.Error as error:
            meaning = faults.named(error, url=self.url)
            raise meaning or StatementRefused(reason=str(error)) from error

    def _rows(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        text = SQL[statement]
        return self._database.read(lambda cursor: cursor.execute(text, values).fetchall())

    def _found(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        text = narrowed(SQL[statement], values)
        return self._database.read(lambda cursor: cursor.execute(text, values).fetchall())
