"""The store on PostgreSQL 15 and later."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final, TypeVar, cast

from psycopg import errors as pg_errors

from holdfast.core.job.decision import Decision
from holdfast.core.job.job import ENDED, MAX_URGENT, Job, WorkerId
from holdfast.core.job.lease import Lease
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant, later
from holdfast.errors import StoreUnavailable, UnknownJob
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
    since_id,
)
from holdfast.store.parts import Parts
from holdfast.store.postgres import inserts, migrations
from holdfast.store.postgres.bounded import BoundedConnection
from holdfast.store.postgres.connection import (
    RETRIED_AT_ONCE,
    STATEMENT_TIMEOUT_S,
    Connection,
    Connections,
)
from holdfast.store.postgres.endpoint import Endpoint
from holdfast.store.postgres.inserts import Stored
from holdfast.store.postgres.lanes import HEADS_FROM, Lanes
from holdfast.store.postgres.listener import PostgresListener
from holdfast.store.postgres.notifier import Notifier
from holdfast.store.postgres.rows import plain_array, text_array
from holdfast.store.postgres.statements import SQL, AnyConnection, blocking, borrowed, fetch
from holdfast.store.postgres.steps import PostgresSql
from holdfast.store.postgres.system_statement import run_statement
from holdfast.store.postgres.writes import Written, is_atomic, write, write_unlocked
from holdfast.store.rows import (
    claimed_jobs,
    job_from_row,
    twin_from_row,
)
from holdfast.store.schema.system_sql import Ran, Value
from holdfast.store.statements.timing import Timings, timed

CONNECTIONS: Final = 8
REPEATS: Final = 5
LOCKED_S: Final = 5.0
"""How long after a lock was waited for without getting it no other is waited for."""
SERVICE_TIMEOUT_S: Final = 10.0
"""What a worker's services run takes milliseconds, and two tries must fit into a lease."""
_SAMPLE: Final = 5

_T = TypeVar("_T")


class PostgresStore(Parts):
    """Jobs in the schema `holdfast` of a PostgreSQL database."""

    writes_at_once = True

    def __init__(
        self,
        url: str | Endpoint,
        *,
        direct_url: str | None = None,
        name: str = "client",
        size: int = CONNECTIONS,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
        generic_plans: bool = False,
        notifier: Notifier | None = None,
        timings: Timings | None = None,
    ) -> None:
        self.timings = timings or Timings()
        endpoint = url if isinstance(url, Endpoint) else Endpoint(url, direct_url=direct_url)
        self._connections = Connections(
            endpoint,
            name=name,
            size=size,
            statement_timeout_s=statement_timeout_s,
            generic_plans=generic_plans,
        )
        self.url = self._connections.location
        self._locked_until = 0.0
        # A worker claims all the time, and its clock does not go back.
        self._lanes = Lanes(spares=generic_plans)
        self._owns_notifier = notifier is None
        self._notifier = notifier or Notifier(self._connections)
        self._make_parts(PostgresSql(self._run), messages_added=self._messages_added)

    def migrate(self) -> list[str]:
        if self._connections.endpoint.direct_url is not None:
            self._connections.check_direct()
        # A connection of its own, which a server takes milliseconds to make, is for what changes.
        if not self.pending_migrations():
            return []
        return migrations.migrate(self._connections.connect_direct, self.tables)

    def pending_migrations(self) -> list[tuple[str, str]]:
        return self._connections.lent_to(lambda own: migrations.pending(own, self.tables))

    def check_schema(self) -> None:
        self._connections.lent_to(lambda own: migrations.check(own, self.tables))

    def reserve(self, name: str) -> PostgresStore:
        return PostgresStore(
            self._connections.endpoint,
            name=name,
            size=1,
            statement_timeout_s=SERVICE_TIMEOUT_S,
            generic_plans=True,
            notifier=self._notifier,
            timings=self.timings,
        )

    def close(self) -> None:
        if self._owns_notifier:
            self._notifier.close()
        self._connections.close()

    def read_clock(self) -> Instant:
        return Instant(self._rows("read_clock", {})[0][0])

    def listen(self, topic: Topic = "due") -> Listener:
        return PostgresListener(self._connections.connect_direct, topic)

    def announce_due(self) -> None:
        self._notifier.notify("due")

    def _messages_added(self, rows: Sequence[tuple[Any, ...]], connection: object) -> None:
        """Wake relays, where rows of `outbox_insert` say that there are new messages."""
        if rows and connection is None:
            self._notifier.notify("outbox")
        elif rows:
            self._notifier.watch("outbox", rows[0][1])

    @timed
    def insert(
        self, jobs: Sequence[NewJob], *, connection: object = None
    ) -> list[ExistingJob | None]:
        if not jobs:
            return []
        if connection is not None:
            stored = inserts.insert(borrowed(connection), jobs)
            self._notifier.watch("due", stored.due_in)
            return stored.twins
        # Ids are chosen by the caller, so an insert whose reply was lost may simply be repeated;
        # the plain one then finds the ids taken, and the general one knows what to make of that.
        if inserts.are_plain(jobs):
            due = inserts.any_due(jobs)
            then = None
            if due and self._connections.endpoint.pooled is False:
                then = self._notifier.statement_now("due")
            try:
                self._run(partial(inserts.insert_plain, jobs=jobs, then=then))
            except pg_errors.UniqueViolation:
                pass
            else:
                if due and then is None:
                    self._notifier.notify("due")
                return [None] * len(jobs)
        stored = self._run(lambda own: inserts.insert(own, jobs), atomic=len(jobs) > 1)
        if stored.due_in is not None:
            self._notifier.notify("due")
        return stored.twins

    def insert_rerun(self, job: NewJob, *, connection: object = None) -> ExistingJob | None:
        if connection is not None:
            stored = self._insert_rerun(borrowed(connection), job)
            self._notifier.watch("due", stored.due_in)
        else:
            stored = self._run(lambda own: self._insert_rerun(own, job), atomic=True)
            if stored.due_in is not None:
                self._notifier.notify("due")
        return stored.twins[0]

    def _insert_rerun(self, connection: AnyConnection, job: NewJob) -> Stored:
        if job.rerun_of is None:
            return inserts.insert_anew(connection, job)
        # The first job's row serves as the lock of its key, so that versions only rise.
        if not fetch(connection, "lock_job", {"id": job.rerun_of}):
            raise UnknownJob(str(job.rerun_of))
        rows = fetch(connection, "reruns", {"first": job.rerun_of})
        twins = [twin_from_row(row) for row in rows]
        if any(twin.job_id == job.id for twin in twins):
            return Stored([None], None)
        if job.version <= twins[-1].version:
            return Stored([twins[-1]], None)
        return inserts.insert(connection, [job])

    def twins(
        self, *, owner: str, pipeline: str, key: str, connection: object = None
    ) -> list[ExistingJob]:
        if connection is not None:
            return _twins(borrowed(connection), owner=owner, pipeline=pipeline, key=key)
        return self._run(lambda own: _twins(own, owner=owner, pipeline=pipeline, key=key))

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
        lease_until = later(now, lease_us)
        fixed = {"limit": limit, "holder": holder, "now": now, "lease_until": lease_until}
        while True:
            values = {**self._lanes.values(routes, limit=limit, first=first), **fixed}
            began_s, from_start = time.monotonic(), not self._lanes.has_heads(routes)
            # Not repeated after an outage: rows leased by a claim whose reply was lost are found
            # by `held_by`, and a silent second claim would hide them.
            rows = self._run(partial(fetch, statement="claim", values=values), after_outage=False)
            jobs = claimed_jobs(rows, holder=holder, lease_until=lease_until, now=now)
            if from_start:
                self._lanes.looked_from_start(time.monotonic() - began_s)
            if jobs or from_start or self._lanes.dear:
                break
            self._lanes.rewind(routes)
        if len(jobs) == limit and (limit >= HEADS_FROM or self._lanes.dear):
            self._lanes.note(jobs)
        elif len(jobs) < limit and self._lanes.dear:
            self._lanes.note_exhausted(routes, now)
        elif len(jobs) < limit:
            self._lanes.rewind(routes)
        return jobs

    def next_due(self, routes: Sequence[Route]) -> Instant | None:
        return cast("Instant | None", self._rows("next_due", self._lanes.arrays(routes))[0][0])

    @timed
    def renew(
        self, leases: Collection[Lease], *, holder: WorkerId, lease_us: int, now: Instant
    ) -> set[Lease]:
        ordered = sorted(leases)
        values = {
            "job_id": plain_array(lease.job_id for lease in ordered),
            "token": plain_array(lease.token for lease in ordered),
            "holder": holder,
            "lease_until": later(now, lease_us),
        }
        return {Lease(job_id, token) for job_id, token in self._rows("renew", values)}

    @timed
    def apply(self, decisions: Sequence[Decision], *, connection: object = None) -> set[JobId]:
        if not decisions:
            return set()
        # Rows are locked in the order of their ids, so that two writers do not wait in a circle.
        ordered = sorted(decisions)
        if connection is not None:
            written = write(blocking(connection), ordered)
        else:
            written = self._write(ordered)
        if written.messages:
            self._messages_added(written.messages, connection)
        if connection is None and any(each.change.state in ENDED for each in ordered):
            self._notifier.notify("ended")
        return written.applied

    def _write(self, ordered: Sequence[Decision]) -> Written:
        atomic = is_atomic(ordered)
        if time.monotonic() >= self._locked_until:
            try:
                return self._run(lambda own: write(own, ordered), atomic=atomic)
            except StoreUnavailable as error:
                if not _is_locked(error):
                    raise
            self._locked_until = time.monotonic() + LOCKED_S
        # Another transaction holds one of the rows: the others must not wait for it.
        return self._run(lambda own: write_unlocked(own, ordered), atomic=True)

    @timed
    def get(self, job_ids: Collection[JobId], *, owner: str | None = None) -> dict[JobId, Job]:
        ids = plain_array(job_ids)
        if owner is None:
            return {job.id: job for job in self._jobs("get", {"ids": ids})}
        return {job.id: job for job in self._jobs("get_owned", {"ids": ids, "owner": owner})}

    @timed
    def find(self, wanted: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        statement = "find_active" if is_active(wanted) else "find"
        values = {**_filter(wanted), "before": before, "limit": limit}
        rows = self._run(lambda own: fetch(own, statement, values, prepare=False))
        return [job_from_row(row) for row in rows]

    def count(self, wanted: JobFilter, *, at_most: int) -> int:
        values = {**_filter(wanted), "limit": at_most}
        rows = self._run(lambda own: fetch(own, counting(wanted), values, prepare=False))
        return cast("int", rows[0][0])

    def checkpoints(self, job_ids: Collection[JobId]) -> list[Checkpoint]:
        rows = self._rows("checkpoints", {"ids": plain_array(job_ids)})
        return [Checkpoint._make(row) for row in rows]

    def verify(self, *, now: Instant) -> list[Violation]:
        found: list[Violation] = []
        for name in SQL.names():
            if not name.startswith("verify_"):
                continue
            ids = [str(row[0]) for row in self._rows(name, {"now": now})]
            if ids:
                promise = SQL[name].splitlines()[0].partition(":")[2].strip()
                invariant = name.removeprefix("verify_")
                found.append(Violation(invariant, promise, len(ids), tuple(ids[:_SAMPLE])))
        return found

    def facts(self) -> dict[str, str]:
        def read(connection: Connection) -> dict[str, str]:
            rows = [*fetch(connection, "facts", {}), *fetch(connection, "facts_of_vacuum", {})]
            return {"product": "PostgreSQL", **dict(rows)}

        found = self._run(read)
        with self._connections.outage_named():
            return {**found, **self._connections.endpoint.facts()}

    @contextmanager
    def transaction(self, *, one_statement: bool = False) -> Iterator[Any]:
        with self._connections.borrowed() as connection:
            if one_statement and not connection.pooled:
                yield connection  # which is in autocommit
                return
            with connection.transaction():
                if connection.pooled:
                    self._connections.bound_transaction(connection)
                yield connection

    def reading(self) -> AbstractContextManager[Any]:
        return self.transaction(one_statement=True)

    def run_statement(self, text: str, values: Mapping[str, Value], *, connection: object) -> Ran:
        # One of the store's own may be without a transaction.
        is_own = isinstance(connection, BoundedConnection)
        own = cast("Connection", connection) if is_own else blocking(connection)
        with self._connections.outage_named():
            return run_statement(own, text, values, systems=[each.system for each in self.tables])

    def _run(
        self,
        operation: Callable[[BoundedConnection], _T],
        *,
        atomic: bool = False,
        after_outage: bool = True,
    ) -> _T:
        """Run `operation`, in a transaction when `atomic`, and repeat it where that is safe.

        PostgreSQL may roll a transaction back so that another can go on; then it is run again.
        A connection may have died while it lay idle; then one more try gets a fresh one.
        """
        used = partial(_in_transaction, operation) if atomic else operation
        stale = after_outage
        for repeat in range(REPEATS):
            try:
                return self._connections.lent_to(used)
            except RETRIED_AT_ONCE as error:
                if repeat == REPEATS - 1:
                    raise StoreUnavailable(self.url, reason=str(error)) from error
            except StoreUnavailable as error:
                if not stale or _is_locked(error):
                    raise
                stale = False
        raise AssertionError("the loop returns or raises")

    def _rows(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._run(lambda own: fetch(own, statement, values))


def _in_transaction(
    operation: Callable[[BoundedConnection], _T], connection: BoundedConnection
) -> _T:
    if connection.pooled:
        return operation(connection)  # which is in one already
    with connection.transaction():
        return operation(connection)


def _is_locked(error: StoreUnavailable) -> bool:
    return isinstance(error.__cause__, pg_errors.LockNotAvailable)


def _twins(
    connection: AnyConnection, *, owner: str, pipeline: str, key: str | None
) -> list[ExistingJob]:
    rows = fetch(connection, "twins", {"owner": owner, "pipeline": pipeline, "key": key})
    return [twin_from_row(row) for row in rows]


def _filter(wanted: JobFilter) -> dict[str, Any]:
    states = text_array(wanted.states) if wanted.states else None
    return {**wanted._asdict(), "states": states, "since_id": since_id(wanted)}
