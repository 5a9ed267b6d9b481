"""What is kept for a while, and walks that remove it."""

import itertools
import os
from collections import Counter
from typing import Any

from holdfast.core.dead_letter.dead_letter import DeadLetter, Resolved
from holdfast.core.dead_letter.lifecycle import decide_letter
from holdfast.core.dead_letter.replay import Replay, ReplayState
from holdfast.core.job.event import CancelRequested, Done, Failed, Refused
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.ids import IdSequence, JobId
from holdfast.core.values.instant import Instant
from holdfast.core.values.retention import Retention
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.replays import Frozen
from holdfast.store.tables.retention import Batch, Place
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    after_event,
    claim,
    next_id,
    started,
    submitted,
)

KEEP_S = 100.0
AUDIT_KEEP_S = 100 * KEEP_S
KEEP = Retention(
    complete=KEEP_S,
    cancelled=2 * KEEP_S,
    failed=3 * KEEP_S,
    audit=AUDIT_KEEP_S,
    replays=KEEP_S,
    figures=KEEP_S,
)
_ids = IdSequence()
_chances = itertools.count(os.getpid() << 32)


def id_made_now() -> JobId:
    """An id made at `NOW`, whatever ids other tests have made: a walk goes by their time."""
    return _ids.next(now=NOW, chance=next(_chances))


def purged(
    store: Store, *, now: Instant, keep: Retention = KEEP, limit: int = 500, dry_run: bool = False
) -> Counter[str]:
    """What one walk through everything removes."""
    removed: Counter[str] = Counter()
    for batch in batches(store, now=now, keep=keep, limit=limit, dry_run=dry_run):
        removed.update(batch.removed)
    return +removed


def batches(
    store: Store, *, now: Instant, keep: Retention = KEEP, limit: int, dry_run: bool = False
) -> list[Batch]:
    """Every batch of one walk."""
    made: list[Batch] = []
    place: Place | None = Place()
    while place is not None:
        made.append(store.retention.purge(keep.cutoffs(now), place, limit=limit, dry_run=dry_run))
        place = made[-1].next
    return made


def complete(store: Store, **changes: Any) -> Job:
    """A job that completed at `NOW`, and left a checkpoint and a history."""
    drafted = after_event(store, started(store, id=id_made_now(), **changes), Done('"drafted"'))
    if drafted.state is JobState.QUEUED:
        (drafted,) = claim(store, limit=1)
    return after_event(store, drafted, Done('"sent"'))


def cancelled(store: Store) -> Job:
    """A job that was cancelled at `NOW`."""
    return after_event(store, started(store, id=id_made_now()), CancelRequested("ada"))


def failed(store: Store, **changes: Any) -> Job:
    """A job that failed for good at `NOW`."""
    job = started(store, id=id_made_now(), **changes)
    return after_event(store, job, Failed(LASTING_FAILURE))


def refused(store: Store) -> Job:
    """A job that was turned away at `NOW`."""
    (job_id,) = submitted(store, id=id_made_now())
    return after_event(store, store.get([job_id])[job_id], Refused(LASTING_FAILURE))


def resolve(store: Store, job: Job, *, now: Instant) -> None:
    """Close the dead letter of a job."""
    letter = store.letters.get(job.id)
    assert letter is not None
    closed = decide_letter(
        letter, Resolved("no", "ada", unreplayed=True), job_state=job.state, now=now
    )
    assert isinstance(closed, DeadLetter)
    assert store.letters.save(closed) is not None


def left_of(store: Store, job_id: JobId) -> list[str]:
    """Which tables still know a job."""
    found = {
        "job": store.get([job_id]),
        "checkpoint": store.checkpoints([job_id]),
        "ledger": store.ledger(job_id),
        "letter": store.letters.get(job_id),
    }
    return [table for table, rows in found.items() if rows]


def _replay(state: ReplayState) -> Replay:
    return Replay(
        id=next_id(),
        name="all",
        asked_by="ada",
        reason=None,
        created_at=NOW,
        updated_at=NOW,
        revision=0,
        state=state,
        from_start=False,
        canary=0,
        every_us=0,
        stop_after=0,
        last_sent_at=None,
        note=None,
    )


def entry_about(subject: str, **changes: Any) -> AuditEntry:
    """A record of an action at `NOW`."""
    return AuditEntry(NOW, "ada", "tried", "purging", subject, **changes)


def replays(store: Store, *states: ReplayState) -> list[str]:
    """Replays in these states, each with a list of five letters."""
    made = [_replay(state) for state in states]
    for replay in made:
        letters = [Frozen(next_id(), 0) for _ in range(5)]
        store.replays.create(replay, letters, audit=entry_about(replay.id))
    return [replay.id for replay in made]
