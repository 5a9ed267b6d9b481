"""Stores submissions: one, or many in few statements, with what each has become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Self

from holdfast.core.job.decision import Ignored
from holdfast.core.job.event import Refused
from holdfast.core.job.lifecycle import decide
from holdfast.core.values.failure import Failure
from holdfast.engine.submit.admission import Admission
from holdfast.engine.submit.submission import Named, RowMaker, Submit, Submitted, resolve
from holdfast.errors import (
    ConflictError,
    QueueFull,
    StoreUnavailable,
    UnknownJob,
    UsageError,
    VersionConflict,
)
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.events.decision_messages import NONE_KNOWN, DecisionMessages
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.store.contract import ExistingJob, NewJob, Store
from holdfast.store.rows import as_stored

BULK: Final = 500
TRIES: Final = 3


class Submitter:
    """Puts submissions into a store; what a taken key means is `resolve`'s to say."""

    def __init__(
        self,
        store: Store,
        *,
        plans: PlanCache,
        clock: Clock,
        chance: Chance,
        admission: Admission | None = None,
        created: Callable[[NewJob, int], None] = lambda _job, _count: None,
        decisions: DecisionMessages = NONE_KNOWN,
    ) -> None:
        self.admission = admission
        self._store = store
        self._plans = plans
        self._clock = clock
        self._chance = chance
        self._rows = RowMaker(chance)
        self._created = created
        self._decisions = decisions

    def one(self, pipeline: Pipeline, submit: Submit, *, connection: object) -> Named:
        """Return the job of a submission."""
        now = self._clock.now()
        row = self._rows.row(pipeline, submit, now=now)
        if self.admission is not None and not self.admission.admits(row.queue):
            return self._known_or_refused(row, submit, connection)
        self._plans.save(pipeline.bound().plan, now=now, connection=connection)
        return self._insert_one(row, submit, connection)

    def refused(
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

    def many(
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
                if self.admission is not None and not self.admission.admits(row.queue):
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
        limit = 0 if self.admission is None else self.admission.max_queued
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
