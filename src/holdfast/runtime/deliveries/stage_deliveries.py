"""Between jobs and deliveries: what a stage asks for is stored, and what came of it is answered.

Deliveries are committed before the job waits for them. A courier may be faster than the worker
that puts the job to wait, or die before it answers: what has ended is kept as not reported until
the job was looked at since.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.classify import classify
from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.event import AskedAgain
from holdfast.core.delivery.lifecycle import decide_delivery
from holdfast.core.job.event import Answered, Done, Event, Failed, Snoozed, Suspended
from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.values.document import encode
from holdfast.core.values.failure import Category, ErrorClass, Failure
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import PipelineNeeded, UnavailableError, UnknownJob, UsageError
from holdfast.runtime.deliveries.new_deliveries import NewDeliveries
from holdfast.runtime.deliveries.provider import Providers
from holdfast.runtime.deliveries.unsent import exhausted
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.clock import Chance
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.delivery")
TRIES: Final = 8
JOBS: Final = 100
ANOTHERS_US: Final = 30 * SECOND_US
"""How long a stage waits before it asks again for deliveries that another job waits for."""
_AT_REST: Final = frozenset({DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.UNKNOWN})


NO_PROVIDERS: Final = Failure(
    error_class=ErrorClass.INVALID,
    message="the stage returned Notify, and this worker has no provider; "
    "pass it to Holdfast(providers=[…])",
    category=Category.PERMANENT,
    retryable=False,
)


class Notices:
    """Asks for deliveries on behalf of stages, and tells their jobs what came of it."""

    def __init__(
        self,
        store: Store,
        *,
        providers: Providers,
        settler: Settler,
        chance: Chance,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._providers = providers
        self._settler = settler
        self._changed = changed
        self._made = NewDeliveries(providers, chance)
        self._after = ""

    def ask(self, job: Job, event: Suspended, *, now: Instant) -> Event:
        """Store what a stage wants notified, and return what becomes of the stage.

        It waits, or is done when everybody was notified before, or has failed when one cannot be.
        It is put off while another job waits for the same deliveries.
        """
        asked = event.asked
        current = self._store.get([job.id]).get(job.id)
        if asked is None or current is None or current.revision != job.revision:
            # The job is another worker's, or has ended: what is decided here will not be written.
            return event
        try:
            made = self._made.of(asked, now=now, job_id=job.id, stage=job.stage, trace=job.trace)
        except UsageError as error:
            return Failed(classify(error, (), now=now))
        required = {delivery.recipient: delivery.required for delivery in made}
        stored = self._store.deliveries.ensure(made)
        anothers = self._owned_by_others(stored, job)
        if anothers is not None:
            return Snoozed(ANOTHERS_US, f"job {anothers} waits for the same deliveries")
        standing = [
            self._asked_again(delivery, job, wanted, now=now)
            for delivery, wanted in zip(stored, made, strict=True)
        ]
        self._changed()
        # A delivery that was sent for another job keeps what that one asked for.
        asked_for = [row._replace(required=required[row.recipient]) for row in standing]
        stuck = _stuck(asked_for)
        if stuck is None:
            return Suspended(event.until, event.messages)
        if stuck:
            return self._exhausted(stuck, asked_for, since=job.attempt_at, now=now)
        return Done(_result(asked_for), None, event.messages)

    def tell(self, now: Instant) -> bool:
        """Look at jobs whose deliveries have ended; True when there may be more of them."""
        jobs = self._store.deliveries.untold(after=self._after, limit=JOBS)
        for job_id in jobs:
            try:
                self._tell(job_id, now)
            except UnavailableError:
                raise
            except Exception:
                LOGGER.exception("the job cannot be told", extra={"job_id": job_id})
        self._after = jobs[-1] if len(jobs) == JOBS else ""
        return len(jobs) == JOBS

    def _owned_by_others(self, stored: Sequence[Delivery], job: Job) -> str | None:
        """Return a job other than this one whose stage waits for some of the deliveries."""
        owners = {
            (JobId(delivery.job_id), delivery.stage)
            for delivery in stored
            if delivery.job_id not in {None, job.id} and delivery.state is not DeliveryState.SENT
        }
        found = self._store.get({owner for owner, _ in owners}) if owners else {}
        for owner, stage in sorted(owners):
            other = found.get(owner)
            if other is not None and other.state in ACTIVE and other.stage == stage:
                return owner
        return None

    def _asked_again(
        self, delivery: Delivery, job: Job, wanted: Delivery, *, now: Instant
    ) -> Delivery:
        """Let a delivery that was there before be this stage's, and revive one that had failed."""
        event = AskedAgain(job.id, job.stage, wanted.required)
        for _ in range(TRIES):
            bound = self._providers.get(delivery.provider)
            if bound is None:
                return delivery
            decided = decide_delivery(delivery, event, bound.terms, now, 0.0)
            if not isinstance(decided, Delivery):
                return delivery
            written = self._store.deliveries.apply([decided])
            if written:
                return written[delivery.id]
            # It was moved, or removed because it was old.
            (delivery,) = self._store.deliveries.ensure([wanted])
        return delivery

    def _tell(self, job_id: str, now: Instant) -> None:
        rows = self._store.deliveries.of_job(job_id)
        job = self._store.get([JobId(job_id)]).get(JobId(job_id))
        if job is not None and job.state in {JobState.QUEUED, JobState.PROCESSING}:
            # The stage is about to ask, or to wait: then it is looked at again.
            rows = [row for row in rows if row.stage != job.stage]
        elif job is not None:
            self._answer([row for row in rows if row.stage == job.stage], job, now)
        at_rest = [row for row in rows if row.state in _AT_REST and not row.job_told]
        if at_rest:
            self._store.deliveries.told(job_id, at_rest)

    def _answer(self, rows: Sequence[Delivery], job: Job, now: Instant) -> None:
        stuck = _stuck(rows)
        if stuck is None:
            return
        event: Event = (
            self._exhausted(stuck, rows, since=job.attempt_at, now=now)
            if stuck
            else Answered(job.stage, _result(rows))
        )

        def make(current: Job) -> Event:
            moved_on = stuck and current.state is not JobState.WAITING
            if moved_on or current.stage != job.stage:
                raise _MovedOn
            return event

        try:
            settled = self._settler.settle(job.id, make, now=now)
        except (_MovedOn, UnknownJob, PipelineNeeded):
            return
        if settled.ignored is None:
            self._store.announce_due()

    def _exhausted(
        self,
        stuck: Sequence[Delivery],
        rows: Sequence[Delivery],
        *,
        since: Instant | None,
        now: Instant,
    ) -> Event:
        log = self._store.deliveries.attempts([row.id for row in stuck])
        required = sum(row.required for row in rows)
        return exhausted(stuck, log, required=required, since=since or Instant(0), now=now)


class _MovedOn(Exception):
    """The job no longer waits in the stage that asked."""


def _stuck(rows: Sequence[Delivery]) -> list[Delivery] | None:
    """Return the required deliveries that were not sent, or None while one is on its way."""
    required = [row for row in rows if row.required]
    if not rows or any(row.state not in _AT_REST for row in required):
        return None
    return [row for row in required if row.state is not DeliveryState.SENT]


def _result(rows: Sequence[Delivery]) -> str:
    """Return the result of a stage whose required deliveries were all sent."""
    document = {
        "sent": sum(row.state is DeliveryState.SENT for row in rows),
        "failed": sum(row.state is DeliveryState.FAILED for row in rows),
        "deliveries": [row.id for row in rows],
    }
    return encode(document, what="result")
