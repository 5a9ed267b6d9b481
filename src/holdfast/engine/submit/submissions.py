"""Submits jobs: one, or many in few statements, with what each has become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Self

from holdfast.classify import classify
from holdfast.core.job.decision import Ignored
from holdfast.core.job.event import Refused
from holdfast.core.job.job import DEFAULT_OWNER, DEFAULT_PRIORITY
from holdfast.core.job.lifecycle import decide
from holdfast.core.values.failure import Failure
from holdfast.engine.connections.resolve import resolved
from holdfast.engine.handles.handle import Following, JobHandle
from holdfast.engine.opening import OpenedStore
from holdfast.engine.submit.admission import Admission
from holdfast.engine.submit.submission import (
    Named,
    RowMaker,
    Submit,
    Submitted,
    as_submits,
    resolve,
)
from holdfast.errors import (
    ConflictError,
    GiveUp,
    QueueFull,
    StoreUnavailable,
    UnknownJob,
    UnknownPipeline,
    UsageError,
    VersionConflict,
)
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import Span
from holdfast.runtime import tracing
from holdfast.runtime.events.announce import Announcer, Applied
from holdfast.runtime.events.decision_messages import DecisionMessages
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.secrecy import keeping_personal_data
from holdfast.store.contract import ExistingJob, NewJob
from holdfast.store.rows import as_stored
from holdfast.views.job import removed_job

BULK: Final = 500
TRIES: Final = 3


class Submissions:
    """Makes jobs of what programs submit; what a taken key means is `resolve`'s to say."""

    def __init__(
        self,
        opened: OpenedStore,
        pipelines: Mapping[str, Pipeline],
        *,
        plans: PlanCache,
        clock: Clock,
        chance: Chance,
        announcer: Announcer,
        created: Callable[[NewJob, int], None],
        follow: Following,
        max_queued: int | None = None,
    ) -> None:
        self._opened = opened
        self._store = opened.unopened
        self._pipelines = pipelines
        self._plans = plans
        self._clock = clock
        self._chance = chance
        self._announcer = announcer
        self._rows = RowMaker(chance)
        self._created = created
        self._follow = follow
        self._decisions = DecisionMessages(pipelines.get)
        self.limit_queues(max_queued)

    def submit(
        self,
        pipeline: Pipeline | str,
        payload: Any = None,  # noqa: ANN401 - checked against the pipeline
        *,
        key: str | None = None,
        key_alone: bool = False,
        owner: str = DEFAULT_OWNER,
        version: int = 1,
        rerun: bool = False,
        queue: str | None = None,
        priority: int = DEFAULT_PRIORITY,
        delay: Span | None = None,
        run_at: datetime | None = None,
        deadline: Span | datetime | None = None,
        trace: str | None = None,
        connection: object = None,
    ) -> JobHandle[Any]:
        """Make a job, or find the one that the key already names; see `Submit`.

        A job that was removed since is found as well, as far as it is known: its id, state, version
        and times, with `removed_at`.
        With `connection` the job is part of the caller's own transaction on the same database:
        it exists if and only if that transaction commits. It is the driver's connection, one or a
        session of SQLAlchemy, or the alias of one of Django's.
        """
        found = self.pipeline(pipeline)
        self._opened.open()
        with tracing.submitting(found.name, trace) as context:
            submit = Submit(
                payload=payload,
                key=key,
                key_alone=key_alone,
                owner=owner,
                version=version,
                rerun=rerun,
                queue=queue,
                priority=priority,
                delay=delay,
                run_at=run_at,
                deadline=deadline,
                trace=context,
            )
            named = self._one(found, submit, connection=resolved(connection))
        return self._handle(named, found, submit)

    def refuse(
        self,
        pipeline: Pipeline | str,
        payload: Any,  # noqa: ANN401 - as above
        because: GiveUp,
        *,
        key: str | None = None,
        key_alone: bool = False,
        owner: str = DEFAULT_OWNER,
        version: int = 1,
        rerun: bool = False,
        trace: str | None = None,
    ) -> JobHandle[Any]:
        """Keep a job that is turned away: it has failed as it comes, and none of it is run.

        Its history says why, it is counted and announced as failed, and there is no dead letter:
        nobody could do anything about it. A key means what it means to `submit`, so that a job
        which the key already names stays as it is.
        """
        found = self.pipeline(pipeline)
        self._opened.open()
        with keeping_personal_data(found.keeps_personal_data):
            failure = classify(because, (), now=self._clock.now())
        with tracing.submitting(found.name, trace) as context:
            submit = Submit(
                payload=payload,
                key=key,
                key_alone=key_alone,
                owner=owner,
                version=version,
                rerun=rerun,
                trace=context,
            )
            named, applied = self._refused(found, submit, failure)
        if applied is not None:
            self._announcer.announce([applied])
        return self._handle(named, found, submit)

    def submit_many(
        self,
        pipeline: Pipeline | str,
        submits: Iterable[Any],
        *,
        connection: object = None,
    ) -> list[Submitted]:
        """Make many jobs in few statements, in order; one that is refused spares the others.

        Each is a payload, or a `Submit` where more than the payload is to be said.
        """
        found = self.pipeline(pipeline)
        given = as_submits(submits)
        self._opened.open()
        with tracing.submitting(found.name, None) as context:
            if context is not None:
                given = [
                    submit if submit.trace is not None else submit._replace(trace=context)
                    for submit in given
                ]
            return self._many(found, given, connection=resolved(connection))

    def limit_queues(self, max_queued: int | None) -> None:
        """From now on refuse jobs with `QueueFull` while so many are queued in their queue."""
        self._admission = (
            None if max_queued is None else Admission(self._store, max_queued=max_queued)
        )

    def _one(self, pipeline: Pipeline, submit: Submit, *, connection: object) -> Named:
        """Return the job of a submission."""
        now = self._clock.now()
        row = self._rows.row(pipeline, submit, now=now)
        if self._admission is not None and not self._admission.admits(row.queue):
            return self._known_or_refused(row, submit, connection)
        self._plans.save(pipeline.bound().plan, now=now, connection=connection)
        return self._insert_one(row, submit, connection)

    def _refused(
        self, pipeline: Pipeline, submit: Submit, failure: Failure
    ) -> tuple[Named, Applied | None]:
        """Return the job of a submission that is turned away, and what was decided of a new one.

        It takes nobody's place in a queue, so that no queue is too full for it.
        """
        now = self._clock.now()
        row = self._rows.row(pipeline, submit, now=now)
        plan = pipeline.bound().plan
        self._plans.save(plan, now=now)
        job = as_stored(row)
        decision = decide(job, Refused(failure), plan, now, self._chance.roll())
        if isinstance(decision, Ignored):
            raise AssertionError(decision.why)  # noqa: TRY004 - a new job can always be refused
        if plan.on_decision:
            decision = self._decisions.added(job, decision)
        with self._store.transaction() as connection:
            named = self._insert_one(row, submit, connection)
            if named.created:
                self._store.apply([decision], connection=connection)
        return named, Applied(job, decision) if named.created else None

    def _many(
        self, pipeline: Pipeline, given: Sequence[Submit], *, connection: object
    ) -> list[Submitted]:
        """Make many jobs, in order; one that is refused spares the others."""
        now = self._clock.now()
        if given:
            self._plans.save(pipeline.bound().plan, now=now, connection=connection)
        results: dict[int, Submitted] = {}
        rows: dict[int, NewJob] = {}
        make = self._rows.row
        with _Inserts(self._insert_many, given, connection) as inserts:
            for position, submit in enumerate(given):
                try:
                    row = make(pipeline, submit, now=now)
                except UsageError as error:
                    results[position] = Submitted(None, created=False, error=error)
                    continue
                if self._admission is not None and not self._admission.admits(row.queue):
                    results[position] = _result(self._known_or_refused, row, submit, connection)
                    continue
                if submit.rerun or len(rows) == BULK:
                    results |= inserts.next(rows)
                    rows = {}
                if submit.rerun:
                    results |= inserts.next({})
                    results[position] = _result(self._insert_one, row, submit, connection)
                else:
                    rows[position] = row
            results |= inserts.next(rows)
            results |= inserts.next({})
        return [results[position] for position in range(len(given))]

    def _insert_one(self, row: NewJob, submit: Submit, connection: object) -> Named:
        for _ in range(TRIES):
            twin = self._store.insert([row], connection=connection)[0]
            if twin is None:
                self._created(row, 1)
                return Named(row.id, created=True)
            twins = self._twins(row, connection)
            if not twins:
                continue  # the job that had the key was removed meanwhile, and the key is free
            if not submit.rerun:
                return Named.known(resolve(row, submit, twins))
            with suppress(UnknownJob):  # as above
                if self._insert_rerun(row, twins, connection):
                    return Named(row.id, created=True)
        raise StoreUnavailable(self._store.url, reason=f"jobs of key {row.key!r} come and go")

    def _known_or_refused(self, row: NewJob, submit: Submit, connection: object) -> Named:
        """Return the job that a key names already; whatever would be new is refused."""
        if row.key is not None and not submit.rerun:
            twins = self._twins(row, connection)
            if twins:
                return Named.known(resolve(row, submit, twins))
        limit = 0 if self._admission is None else self._admission.max_queued
        raise QueueFull(row.queue, limit=limit)

    def _insert_rerun(self, row: NewJob, twins: Sequence[ExistingJob], connection: object) -> bool:
        """Store a rerun; return False when another job of the key was made or removed meanwhile."""
        first = next((twin.job_id for twin in twins if twin.removed_at is None), None)
        rerun = row._replace(rerun_of=first)
        standing = self._store.insert_rerun(rerun, connection=connection)
        if standing is None:
            self._created(row, 1)
            return True
        if standing.version < row.version:
            return False
        raise VersionConflict(standing.job_id, requested=row.version, found=standing.version)

    def _insert_many(
        self, rows: Mapping[int, NewJob], given: Sequence[Submit], connection: object
    ) -> dict[int, Submitted]:
        """Insert rows by one statement, and say what each has become."""
        twins = self._store.insert(list(rows.values()), connection=connection)
        new = twins.count(None)
        if new:
            self._created(next(iter(rows.values())), new)
        return {
            position: Submitted(row.id, created=True)
            if twin is None
            else _result(self._known, row, given[position], connection)
            for (position, row), twin in zip(rows.items(), twins, strict=True)
        }

    def _known(self, row: NewJob, submit: Submit, connection: object) -> Named:
        twins = self._twins(row, connection)
        if not twins:
            return self._insert_one(row, submit, connection)
        return Named.known(resolve(row, submit, twins))

    def _twins(self, row: NewJob, connection: object) -> list[ExistingJob]:
        return self._store.twins(
            owner=row.owner, pipeline=row.pipeline, key=row.key or "", connection=connection
        )

    def _handle(self, named: Named, pipeline: Pipeline, submit: Submit) -> JobHandle[Any]:
        twin = named.removed
        if twin is None:
            return JobHandle(named.job_id, created=named.created, follow=self._follow)
        view = removed_job(
            twin,
            pipeline=pipeline.name,
            owner=submit.owner,
            key=submit.key or "",
            read_at=self._clock.now(),
        )
        return JobHandle(named.job_id, created=False, follow=self._follow, removed=view)

    def pipeline(self, wanted: Pipeline | str) -> Pipeline:
        """Return a pipeline of this process, or raise `UnknownPipeline`."""
        name = wanted.name if isinstance(wanted, Pipeline) else wanted
        found = self._pipelines.get(name)
        if found is None or (isinstance(wanted, Pipeline) and found is not wanted):
            raise UnknownPipeline(name, known=self._pipelines)
        return found


class _Inserts:
    """Inserts one chunk while the next is being made, in order.

    In the caller's own transaction everything happens in the caller's thread.
    """

    def __init__(
        self,
        insert: Callable[[Mapping[int, NewJob], Sequence[Submit], object], dict[int, Submitted]],
        given: Sequence[Submit],
        connection: object,
    ) -> None:
        self._insert: Callable[[Mapping[int, NewJob]], dict[int, Submitted]] = lambda rows: insert(
            rows, given, connection
        )
        alone = connection is not None or len(given) <= BULK
        self._helper = None if alone else ThreadPoolExecutor(1, "holdfast-submit")
        self._under_way: Future[dict[int, Submitted]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._helper is not None:
            self._helper.shutdown(wait=True)

    def next(self, rows: Mapping[int, NewJob]) -> dict[int, Submitted]:
        """Start inserting `rows`, and return what the rows before them have become."""
        if self._helper is None:
            return self._insert(rows)
        before, self._under_way = self._under_way, None
        results = {} if before is None else before.result()
        if rows:
            self._under_way = self._helper.submit(self._insert, rows)
        return results


def _result(
    submit_one: Callable[[NewJob, Submit, object], Named],
    row: NewJob,
    submit: Submit,
    connection: object,
) -> Submitted:
    """Return what became of one of many; an outage is nobody's fault and is raised."""
    try:
        named = submit_one(row, submit, connection)
        return Submitted(named.job_id, created=named.created)
    except (UsageError, ConflictError, QueueFull) as error:
        return Submitted(None, created=False, error=error)
