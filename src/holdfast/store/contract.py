"""What the engine asks of a database.

A store selects and guards; it decides nothing. Every method that judges time takes `now`, every
write names the revision or the lease it read, and no method is half done when it raises:
`UnavailableError` means that the whole call may be made again.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from holdfast.core.job.job import ACTIVE, MAX_URGENT
from holdfast.core.values.ids import JobId, id_before
from holdfast.core.values.instant import SECOND_US, Instant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from holdfast.core.job.decision import Decision, Entry
    from holdfast.core.job.job import Job, JobState, PlanDigest, WorkerId
    from holdfast.core.job.lease import Lease
    from holdfast.core.job.plan import Plan, Route
    from holdfast.store.credentials.secrets import SecretRows
    from holdfast.store.credentials.sessions import SessionRows
    from holdfast.store.credentials.tokens import TokenRows
    from holdfast.store.schema.system_sql import Ran, Value
    from holdfast.store.schema.system_tables import SystemTables
    from holdfast.store.statements.timing import Timings
    from holdfast.store.tables.activity import ActivityCounts
    from holdfast.store.tables.audit import AuditEntry, AuditRows
    from holdfast.store.tables.dead_letters import LetterRows
    from holdfast.store.tables.deliveries import DeliveryRows
    from holdfast.store.tables.drains import DrainRows
    from holdfast.store.tables.due import DueRows
    from holdfast.store.tables.erasure import ErasureRows
    from holdfast.store.tables.inbox import InboxRows
    from holdfast.store.tables.outbox import OutboxRows
    from holdfast.store.tables.replays import ReplayRows
    from holdfast.store.tables.retention import RetentionRows
    from holdfast.store.tables.tail import TailRows
    from holdfast.store.tables.upstreams import UpstreamRows


_CLOCKS_APART_US: Final = 3600 * SECOND_US
"""By how much the clocks of those who make ids may differ at most."""


class NewJob(NamedTuple):
    """A job about to be stored: everything that is not a fixed starting value."""

    id: JobId
    pipeline: str
    plan: PlanDigest
    queue: str
    priority: int
    owner: str
    key: str | None
    version: int
    rerun_of: JobId | None
    payload: str
    fingerprint: str | None
    """Hash of the payload, kept where a key must tell one body from another."""
    trace: str | None
    created_at: Instant
    stage: str
    run_at: Instant
    deadline_at: Instant | None


class ExistingJob(NamedTuple):
    """A job that shares its owner, pipeline and key with a submission, also one that is gone."""

    job_id: JobId
    version: int
    fingerprint: str | None
    state: JobState
    created_at: Instant
    finished_at: Instant | None
    removed_at: Instant | None = None
    """When the job was removed; None while it is stored."""
    memo: str | None = None
    """Of one that was removed: what its pipeline remembers of the payload, as JSON."""


class JobFilter(NamedTuple):
    """Which jobs to list; empty fields match everything."""

    states: tuple[JobState, ...] = ()
    pipeline: str | None = None
    stage: str | None = None
    queue: str | None = None
    owner: str | None = None
    key: str | None = None
    error_class: str | None = None
    created_since: Instant | None = None
    created_until: Instant | None = None


def since_id(wanted: JobFilter) -> JobId | None:
    """Return the id below which every job is too old: ids rise with time, in every process."""
    if wanted.created_since is None:
        return None
    return id_before(Instant(max(wanted.created_since - _CLOCKS_APART_US, 0)))


def is_active(wanted: JobFilter) -> bool:
    """Return whether the index of a state that is not an end leads to what a filter asks for."""
    narrower = wanted.key is not None or wanted.error_class is not None
    return len(wanted.states) == 1 and wanted.states[0] in ACTIVE and not narrower


def counting(wanted: JobFilter) -> str:
    """Return the name of the statement that counts what a filter asks for."""
    narrower = wanted.key is not None or wanted.error_class is not None
    if wanted.owner and wanted.states and ACTIVE.issuperset(wanted.states) and not narrower:
        return "count_owned"
    return "count_active" if is_active(wanted) else "count_found"


class Position(NamedTuple):
    """How far a sweep has come: rows are swept in the order of instant, then id."""

    instant: Instant
    job_id: str


class LedgerEntry(NamedTuple):
    """A stored entry: the revision it led to, the state after it, and what happened."""

    job_id: JobId
    revision: int
    state: JobState
    entry: Entry


class Checkpoint(NamedTuple):
    """The stored result of a finished stage in the job's current run."""

    job_id: JobId
    stage: str
    result: str


class QueueCounts(NamedTuple):
    """How a queue stands. Ended jobs are not counted: history may be long."""

    queue: str
    paused_at: Instant | None
    paused_by: str | None
    due: int
    scheduled: int
    processing: int
    waiting: int
    oldest_due_at: Instant | None
    paused_reason: str | None = None
    expired: int = 0
    """Jobs whose lease has ended: nobody runs them, and a running worker will take them over.
    They are not among `processing`."""

    @property
    def active(self) -> int:
        """How many jobs have not ended."""
        return self.due + self.scheduled + self.processing + self.waiting + self.expired


class PausedQueue(NamedTuple):
    """A queue from which nothing is claimed."""

    name: str
    paused_at: Instant
    paused_by: str
    reason: str | None = None


class Leases(NamedTuple):
    """How many jobs a worker has leased."""

    held: int
    ended: int = 0
    """Those whose lease has ended: it runs them no more."""


class WorkerRow(NamedTuple):
    """A worker process as it last reported itself."""

    id: WorkerId
    host: str
    pid: int
    started_at: Instant
    seen_at: Instant
    queues: str
    concurrency: int
    state: str
    """`running`, `draining` or `stopped`."""
    drain_asked_at: Instant | None = None
    """When its end was requested; it learns of it when it next reports itself."""
    drain_asked_by: str | None = None
    stages: str | None = None
    """What it runs, as `["pipeline/stage", …]`; None for one that does not say."""


class Violation(NamedTuple):
    """An invariant that does not hold, with some of the rows that break it."""

    invariant: str
    promise: str
    found: int
    sample: tuple[str, ...]


Topic = Literal["due", "outbox", "ended"]
"""What listeners listen for."""


class Listener(Protocol):
    """Hears that something may be due. Wake-ups may be lost or late, so its user polls as well."""

    def wait(self, timeout_s: float) -> bool:
        """Return True when something was announced, False after `timeout_s` of silence."""
        ...

    def close(self) -> None:
        """Stop listening; a `wait` under way in another thread returns soon."""
        ...


class Store(Protocol):
    """Holds jobs, plans, checkpoints and the ledger."""

    url: str
    writes_at_once: bool
    """Whether two may write at the same time, or one waits for the other."""
    upstreams: UpstreamRows
    audit: AuditRows
    secrets: SecretRows
    retention: RetentionRows
    erasure: ErasureRows
    letters: LetterRows
    replays: ReplayRows
    outbox: OutboxRows
    inbox: InboxRows
    deliveries: DeliveryRows
    due: DueRows
    tail: TailRows
    tokens: TokenRows
    sessions: SessionRows
    activity: ActivityCounts
    drains: DrainRows
    timings: Timings
    """Who is notified how long operations took."""
    tables: tuple[SystemTables, ...]
    """The tables of systems: brought up to date, shown and checked after the engine's own."""

    def migrate(self) -> list[str]:
        """Bring the schema up to date and return the names of the migrations applied now."""
        ...

    def pending_migrations(self) -> list[tuple[str, str]]:
        """Return name and SQL of each migration not yet applied, in order; change nothing.

        Run by hand, the SQL does what `migrate` does, the record of the migration included.
        """
        ...

    def check_schema(self) -> None:
        """Raise `SchemaTooNew` or `SchemaTooOld` unless the schema is the one this code knows."""
        ...

    def reserve(self, name: str) -> Store:
        """Return a store with connections of its own, so that no other user can starve it."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...

    def read_clock(self) -> Instant:
        """Return the database's own time, which judges leases and deadlines."""
        ...

    def listen(self, topic: Topic = "due") -> Listener:
        """Return a listener of its own connection: for due jobs, outbox messages or ended jobs."""
        ...

    def announce_due(self) -> None:
        """Tell listeners that jobs may be due."""
        ...

    def insert(
        self, jobs: Sequence[NewJob], *, connection: object = None
    ) -> list[ExistingJob | None]:
        """Store new jobs, all or none; per job None, or the twin that already holds its key.

        A key is held by a job, and by one that was removed for as long as its key is kept. A job
        whose own id is stored already counts as inserted, so an insert whose outcome was lost may
        be repeated. With `connection` the rows become part of the caller's own
        transaction, and nothing is committed here.
        """
        ...

    def insert_rerun(self, job: NewJob, *, connection: object = None) -> ExistingJob | None:
        """Store a rerun of `job.rerun_of` unless a job of that key has its version or a higher.

        Where all jobs of the key were removed, `rerun_of` is None, and so it is where another has
        been made since. Returns None, or the twin with the highest version, which stands in the
        way.
        """
        ...

    def twins(
        self, *, owner: str, pipeline: str, key: str, connection: object = None
    ) -> list[ExistingJob]:
        """Return every job of that key, the lowest version first, also those that were removed."""
        ...

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
        """Lease up to `limit` due jobs of `routes`, most urgent first, then longest due.

        Jobs of the priority `first` are taken before the others.
        Queues that are paused and jobs past their deadline are passed over. Routes are tried in
        the order given within one priority. No two claims return the same lease.
        """
        ...

    def next_due(self, routes: Sequence[Route]) -> Instant | None:
        """Return when the next queued job of `routes` is due, or None when there is none."""
        ...

    def held_by(self, holder: WorkerId) -> list[Job]:
        """Return the jobs leased to `holder`."""
        ...

    def renew(
        self, leases: Collection[Lease], *, holder: WorkerId, lease_us: int, now: Instant
    ) -> set[Lease]:
        """Extend leases to `now + lease_us`; return those still held. Revisions stay.

        A row that another has locked is not waited for: it counts as held when it is, and
        is renewed the next time.
        """
        ...

    def apply(self, decisions: Sequence[Decision], *, connection: object = None) -> set[JobId]:
        """Write decisions in one transaction; return the ids whose revision still matched.

        A decision whose job has moved on, or is locked by another for long, is left out; the
        others stand. At most one decision per job in one call. With `connection` they become part
        of the caller's own transaction, and a row that is locked is waited for.
        """
        ...

    def expired(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]:
        """Return processing jobs whose lease ended before `now`, by lease end and id."""
        ...

    def overdue(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]:
        """Return active jobs whose deadline lies before `now`, by deadline and id."""
        ...

    def unanswered(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]:
        """Return waiting jobs whose wait is over at `now`, by end of the wait and id."""
        ...

    def get(self, job_ids: Collection[JobId], *, owner: str | None = None) -> dict[JobId, Job]:
        """Return the jobs of those ids that exist; with `owner`, and belong to it."""
        ...

    def find(self, wanted: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        """Return matching jobs, newest id first, from those below `before`."""
        ...

    def count(self, wanted: JobFilter, *, at_most: int) -> int:
        """Return how many jobs match; no more than `at_most` are counted."""
        ...

    def checkpoints(self, job_ids: Collection[JobId]) -> list[Checkpoint]:
        """Return the checkpoints of those jobs' current runs."""
        ...

    def ledger(self, job_id: JobId) -> list[LedgerEntry]:
        """Return a job's history, oldest first."""
        ...

    def sent_back_at(self, job_ids: Collection[JobId]) -> dict[JobId, Instant]:
        """Return when each of these jobs was last sent back after it had failed, if it was."""
        ...

    def save_plan(self, plan: Plan, *, now: Instant, connection: object = None) -> None:
        """Store a plan; one that is there already stays as it is."""
        ...

    def load_plan(self, pipeline: str, digest: PlanDigest) -> Plan | None:
        """Return a stored plan."""
        ...

    def newest_plan(self, pipeline: str) -> Plan | None:
        """Return the plan of a pipeline that was asked for last, or None."""
        ...

    def pause_queue(
        self,
        queue: str,
        *,
        by: str,
        now: Instant,
        reason: str | None = None,
        audit: AuditEntry | None = None,
    ) -> bool:
        """Stop claims from a queue; False when it was paused already.

        What the audit log should say is written with it, unless it was paused already.
        """
        ...

    def resume_queue(self, queue: str, *, audit: AuditEntry | None = None) -> bool:
        """Let claims from a queue go on; False when it was not paused, see `pause_queue`."""
        ...

    def paused_queues(self) -> list[PausedQueue]:
        """Return the queues that are paused, by name."""
        ...

    def leased(self, *, now: Instant) -> dict[str, Leases]:
        """Return how many jobs each worker has leased, by its id."""
        ...

    def queued(self, queue: str, *, limit: int) -> int:
        """Return how many jobs of a queue are queued, due or not; at most `limit` are counted."""
        ...

    def queues(self, *, now: Instant) -> list[QueueCounts]:
        """Return every queue that has active jobs or is paused, by name."""
        ...

    def routes(self, *, now: Instant) -> list[tuple[Route, int, Instant]]:
        """Return each route with due jobs, how many, and since when the oldest is due."""
        ...

    def record_worker(self, worker: WorkerRow) -> None:
        """Store how a worker stands."""
        ...

    def workers(self) -> list[WorkerRow]:
        """Return the workers on record, the latest seen first."""
        ...

    def forget_workers(self, *, seen_before: Instant) -> int:
        """Remove workers not seen since then and return how many."""
        ...

    def verify(self, *, now: Instant) -> list[Violation]:
        """Check the invariants that plain SQL can check; read only."""
        ...

    def facts(self) -> dict[str, str]:
        """Return what `doctor` shows: product, version, settings that matter, schema version."""
        ...

    def transaction(self, *, one_statement: bool = False) -> AbstractContextManager[Any]:
        """Open a transaction of the store's own and yield its connection, for `connection=`.

        With `one_statement` at most one is run on it, so that no other has to begin and commit it.
        """
        ...

    def reading(self) -> AbstractContextManager[Any]:
        """Lend a connection for `run_statement` that sees what is committed, and does not write."""
        ...

    def run_statement(self, text: str, values: Mapping[str, Value], *, connection: object) -> Ran:
        """Run a statement of a system in the transaction that is open on `connection`.

        Values are written `:name` and tables `system.table`, whichever database this is. Raises
        `ConstraintViolated` for rows that a constraint does not allow, and `StatementRefused` for
        what the database cannot run; the transaction can then only be rolled back.
        """
        ...
