"""What goes when it has been kept long enough, what stays, and that nothing is left behind."""

import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from holdfast.core.dead_letter import DeadLetter, Resolved, decide_letter
from holdfast.core.event import CancelRequested, Done, Failed, RetryRequested
from holdfast.core.ids import IdSequence, JobId, id_before
from holdfast.core.instant import SECOND_US, Instant
from holdfast.core.job import Job, JobState
from holdfast.core.plan import Plan, StagePlan
from holdfast.core.replay import Replay, ReplayState
from holdfast.core.retention import DAY_S, PLAN_S, Retention
from holdfast.core.retry import Retry
from holdfast.errors import UnknownJob
from holdfast.store.audit import AuditEntry
from holdfast.store.contract import NewJob, Store, Twin
from holdfast.store.replays import Frozen
from holdfast.store.retention import Batch, Place, Section
from holdfast.testing.conformance.racing import at_once
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PLAN,
    after,
    after_event,
    claim,
    new_job,
    next_id,
    started,
    submitted,
)

_KEEP_S = 100.0
_KEEP = Retention(
    complete=_KEEP_S, cancelled=2 * _KEEP_S, failed=3 * _KEEP_S, audit=_KEEP_S, replays=_KEEP_S
)

_ids = IdSequence()
_chances = itertools.count(os.getpid() << 32)


def id_made_now() -> JobId:
    """An id made at `NOW`, whatever ids other tests have made: a walk goes by their time."""
    return _ids.next(now=NOW, chance=next(_chances))


def purged(
    store: Store, *, now: Instant, keep: Retention = _KEEP, limit: int = 500, dry_run: bool = False
) -> Counter[str]:
    """What one walk through everything removes."""
    removed: Counter[str] = Counter()
    for batch in batches(store, now=now, keep=keep, limit=limit, dry_run=dry_run):
        removed.update(batch.removed)
    return +removed


def batches(
    store: Store, *, now: Instant, keep: Retention = _KEEP, limit: int, dry_run: bool = False
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


def failed(store: Store) -> Job:
    """A job that failed for good at `NOW`."""
    return after_event(store, started(store, id=id_made_now()), Failed(LASTING_FAILURE))


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


def _entry(subject: str, **changes: Any) -> AuditEntry:
    return AuditEntry(NOW, "ada", "tried", "purging", subject, **changes)


class PurgeConformance:
    """What `retention.purge` promises."""

    @pytest.mark.parametrize(
        ("end", "keep_s"),
        [(complete, _KEEP_S), (cancelled, 2 * _KEEP_S)],
        ids=["complete", "cancelled"],
    )
    def test_a_job_goes_at_the_instant_its_time_is_over_and_not_before(
        self, store: Store, end: Any, keep_s: float
    ) -> None:
        job = end(store)

        assert purged(store, now=Instant(after(keep_s) - 1)) == {}
        assert "job" in left_of(store, job.id)
        assert purged(store, now=after(keep_s)) == {"jobs": 1}
        assert left_of(store, job.id) == []

    def test_a_job_goes_with_its_checkpoints_and_its_history(self, store: Store) -> None:
        job = complete(store)
        assert left_of(store, job.id) == ["job", "checkpoint", "ledger"]

        purged(store, now=after(_KEEP_S))

        assert left_of(store, job.id) == []
        assert _violations(store) == []

    def test_a_job_that_has_not_ended_never_goes(self, store: Store) -> None:
        running = started(store, id=id_made_now())
        (queued,) = submitted(store, id=id_made_now())

        assert purged(store, now=after(10**9)) == {}
        assert set(store.get([running.id, queued])) == {running.id, queued}

    def test_what_is_kept_for_ever_never_goes(self, store: Store) -> None:
        jobs = [complete(store), cancelled(store), failed(store)]
        resolve(store, jobs[-1], now=NOW)
        for_ever = Retention(complete=None, cancelled=None, failed=None, audit=None, replays=None)

        assert purged(store, now=after(10**9), keep=for_ever) == {}
        assert len(store.get([job.id for job in jobs])) == 3

    def test_each_state_has_its_own_time(self, store: Store) -> None:
        kept, gone = cancelled(store), complete(store)
        keep = Retention(complete=_KEEP_S, cancelled=None)

        assert purged(store, now=after(10 * _KEEP_S), keep=keep) == {"jobs": 1}
        assert left_of(store, gone.id) == []
        assert "job" in left_of(store, kept.id)

    def test_a_failed_job_is_kept_while_its_dead_letter_waits_for_somebody(
        self, store: Store
    ) -> None:
        job = failed(store)

        assert purged(store, now=after(10**9)) == {}
        assert left_of(store, job.id) == ["job", "ledger", "letter"]

    def test_a_failed_job_goes_with_its_letter_so_long_after_that_was_resolved(
        self, store: Store
    ) -> None:
        job = failed(store)
        resolve(store, job, now=after(50))
        over = after(50 + 3 * _KEEP_S)

        assert purged(store, now=Instant(over - 1)) == {}
        assert purged(store, now=over) == {"jobs": 1, "letters": 1}
        assert left_of(store, job.id) == []
        assert _violations(store) == []

    def test_a_job_that_was_mended_is_kept_while_its_letter_is(self, store: Store) -> None:
        back = after_event(store, failed(store), RetryRequested("ada"), now=after(1))
        (again,) = claim(store, limit=1, now=back.run_at)
        drafted = after_event(store, again, Done('"drafted"'), now=after(1))
        if drafted.state is JobState.QUEUED:
            (drafted,) = claim(store, limit=1, now=after(1))
        job = after_event(store, drafted, Done('"sent"'), now=after(1))

        keep = Retention(complete=_KEEP_S, failed=3 * _KEEP_S, audit=None)
        assert purged(store, now=after(10**9), keep=keep) == {}
        resolve(store, job, now=after(2))
        assert purged(store, now=after(2 + 3 * _KEEP_S - 0.1), keep=keep) == {}
        gone = purged(store, now=after(2 + 3 * _KEEP_S), keep=keep)
        assert gone == {"jobs": 1, "letters": 1}
        assert left_of(store, job.id) == []

    def test_a_letter_without_a_job_goes_in_its_time(self, store: Store) -> None:
        job = failed(store)
        resolve(store, job, now=NOW)
        with_job = store.retention.purge(_KEEP.cutoffs(NOW), Place())
        assert with_job.removed == {}
        _forget_job(store, job.id)

        assert purged(store, now=after(3 * _KEEP_S)) == {"letters": 1}
        assert store.letters.get(job.id) is None

    def test_the_first_job_of_a_key_stays_while_a_rerun_of_it_stays(self, store: Store) -> None:
        first = complete(store, key="k", fingerprint="f")
        rerun = new_job(id=id_made_now(), key="k", fingerprint="f", version=2, rerun_of=first.id)
        assert store.insert_rerun(rerun) is None

        assert purged(store, now=after(10 * _KEEP_S)) == {}
        (running,) = claim(store, limit=1)
        after_event(store, running, CancelRequested("ada"))
        assert purged(store, now=after(10 * _KEEP_S)) == {"jobs": 1}
        assert left_of(store, rerun.id) == []
        assert purged(store, now=after(10 * _KEEP_S)) == {"jobs": 1}
        assert left_of(store, first.id) == []

    def test_a_failed_first_job_and_its_letter_stay_while_a_rerun_stays(self, store: Store) -> None:
        first = after_event(
            store,
            started(store, id=id_made_now(), key="k", fingerprint="f"),
            Failed(LASTING_FAILURE),
        )
        resolve(store, first, now=NOW)
        store.insert_rerun(
            new_job(id=id_made_now(), key="k", fingerprint="f", version=2, rerun_of=first.id)
        )

        assert purged(store, now=after(10 * _KEEP_S)) == {}
        assert left_of(store, first.id) == ["job", "ledger", "letter"]

    def test_the_key_of_a_job_that_went_is_free(self, store: Store) -> None:
        complete(store, key="k", fingerprint="f")
        again = new_job(id=id_made_now(), key="k", fingerprint="other")
        assert store.insert([again]) != [None]

        purged(store, now=after(_KEEP_S))

        assert store.insert([again]) == [None]
        assert store.checkpoints([again.id]) == []

    def test_a_batch_looks_at_so_many_rows_and_says_where_to_go_on(self, store: Store) -> None:
        jobs = [complete(store) for _ in range(7)]

        made = [
            batch
            for batch in batches(store, now=after(_KEEP_S), limit=3)
            if batch.section is Section.JOBS
        ]

        assert [(batch.seen, batch.removed["jobs"]) for batch in made] == [(3, 3), (3, 3), (1, 1)]
        assert store.get([job.id for job in jobs]) == {}

    def test_rows_that_stay_hide_none_of_those_behind_them(self, store: Store) -> None:
        kept = [failed(store) for _ in range(5)]
        gone = complete(store)
        resolved = [failed(store) for _ in range(5)]
        for job in resolved:
            resolve(store, job, now=NOW)

        assert purged(store, now=after(3 * _KEEP_S), limit=2) == {"jobs": 6, "letters": 5}
        assert left_of(store, gone.id) == []
        assert len(store.get([job.id for job in kept])) == 5

    def test_jobs_made_later_are_not_even_looked_at(self, store: Store) -> None:
        complete(store)
        store.insert([new_job(id=id_before(after(3600 + number))) for number in range(10)])

        made = batches(store, now=after(_KEEP_S + 2), limit=100)

        assert sum(batch.seen for batch in made if batch.section is Section.JOBS) == 1

    def test_a_dry_run_counts_and_removes_nothing(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)
        jobs = [complete(store), failed(store), cancelled(store)]
        resolve(store, jobs[1], now=NOW)
        now = after(PLAN_S + 4 * DAY_S)
        _replays(store, ReplayState.DONE)

        counted = purged(store, now=now, dry_run=True)

        assert {job.id for job in jobs} == set(store.get([job.id for job in jobs]))
        assert counted == {"jobs": 3, "letters": 1, "replays": 1, "audit": 1}
        # Without its jobs nothing uses the plan.
        assert purged(store, now=now) == {**counted, "plans": 1}

    def test_two_that_purge_at_once_remove_everything_once(
        self, store: Store, other_store: Store
    ) -> None:
        store.insert([new_job(id=id_made_now()) for _ in range(60)])
        for job in claim(store, limit=60):
            after_event(store, job, CancelRequested("ada"))
        now = after(10 * _KEEP_S)

        counts = at_once(
            [partial(purged, own, now=now, limit=4) for own in (store, other_store) * 3]
        )
        left = purged(store, now=now)

        assert sum((count["jobs"] for count in counts), left["jobs"]) == 60
        assert _violations(store) == []

    def test_a_rerun_is_made_or_its_first_job_goes_but_never_both(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(20):
            first = complete(store, key=f"k-{number}", fingerprint="f")
            rerun = new_job(
                id=id_made_now(), key=first.key, fingerprint="f", version=2, rerun_of=first.id
            )
            both: list[Callable[[], object]] = [
                partial(purged, store, now=after(_KEEP_S)),
                partial(_attempt_rerun, other_store, rerun),
            ]
            at_once(both)

            assert ("job" in left_of(store, first.id)) == ("job" in left_of(store, rerun.id))

    def test_a_key_that_is_freed_meanwhile_is_taken_or_leads_to_its_job(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(20):
            first = complete(store, key=f"k-{number}", fingerprint="f")
            wanted = [
                new_job(id=id_made_now(), key=first.key, fingerprint="f"),
                new_job(id=id_made_now()),
            ]
            twins: list[Twin | None] = []
            both: list[Callable[[], object]] = [
                partial(purged, store, now=after(_KEEP_S)),
                partial(_insert, other_store, wanted, twins),
            ]
            at_once(both)

            twin, other = twins
            assert other is None
            assert (twin is None) == ("job" in left_of(store, wanted[0].id))
            assert twin is None or twin.job_id == first.id

    def test_the_record_of_actions_goes_in_its_time(self, store: Store) -> None:
        subject = next_id()
        upstream = store.upstreams.get(subject)
        young = _entry(subject)._replace(at=after(50))
        assert store.upstreams.save(upstream, now=NOW, audit=[_entry(subject), young])

        purged(store, now=Instant(after(_KEEP_S) - 1))
        assert len(store.audit.latest(subject_kind="purging", subject=subject)) == 2
        purged(store, now=after(_KEEP_S))
        assert store.audit.latest(subject_kind="purging", subject=subject) == [young]

    def test_a_replay_that_ended_goes_with_its_list(self, store: Store) -> None:
        ended, under_way = _replays(store, ReplayState.STOPPED, ReplayState.RUNNING)

        assert "replays" not in purged(store, now=Instant(after(_KEEP_S) - 1))
        assert purged(store, now=after(_KEEP_S), limit=2)["replays"] == 1
        assert store.replays.get(ended) is None
        assert store.replays.items(ended, after=0, limit=10) == []
        assert store.replays.get(under_way) is not None
        assert len(store.replays.items(under_way, after=0, limit=10)) == 5

    def test_a_plan_that_no_job_uses_and_nobody_asks_for_goes(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)
        used, unused, asked_for = (
            Plan("letters", (StagePlan(name, Retry()),)) for name in ("used", "unused", "asked")
        )
        for plan in (used, unused, asked_for):
            store.save_plan(plan, now=NOW)
        for _ in range(5):
            submitted(store, id=id_made_now())
        submitted(store, id=id_made_now(), plan=used.digest, stage="used")
        store.save_plan(asked_for, now=after(2 * DAY_S))

        assert "plans" not in purged(store, now=Instant(after(PLAN_S) - 1), limit=2)
        assert purged(store, now=after(PLAN_S), limit=2) == {"plans": 1}
        found = {
            plan: store.load_plan("letters", plan.digest) is not None
            for plan in (PLAN, used, unused, asked_for)
        }
        assert found == {PLAN: True, used: True, unused: False, asked_for: True}

    def test_a_plan_asked_for_again_within_a_day_is_not_written_again(self, store: Store) -> None:
        unused = Plan("letters", (StagePlan("unused", Retry()),))
        store.save_plan(unused, now=NOW)
        store.save_plan(unused, now=after(DAY_S - 1))

        assert purged(store, now=after(PLAN_S))["plans"] == 1


def _replays(store: Store, *states: ReplayState) -> list[str]:
    """Replays in these states, each with a list of five letters."""
    made = [_replay(state) for state in states]
    for replay in made:
        letters = [Frozen(next_id(), 0) for _ in range(5)]
        store.replays.create(replay, letters, audit=_entry(replay.id))
    return [replay.id for replay in made]


def _insert(store: Store, jobs: Sequence[NewJob], twins: list[Twin | None]) -> None:
    twins += store.insert(jobs)


def _attempt_rerun(store: Store, rerun: NewJob) -> None:
    try:
        assert store.insert_rerun(rerun) is None
    except UnknownJob:
        return


def _forget_job(store: Store, job_id: JobId) -> None:
    """Take a job away behind its letter's back, as another version might have."""
    schema = "holdfast_" if store.url.startswith("sqlite") else "holdfast."
    with store.transaction() as connection:
        for place in (f"ledger where job_id = '{job_id}'", f"job where id = '{job_id}'"):
            connection.execute(f"delete from {schema}{place}")  # noqa: S608 - no one else's text


def _violations(store: Store) -> list[Mapping[str, Any]]:
    """What an orphan would break."""
    about_jobs = {"checkpoint_has_its_job", "ledger_has_its_job", "rerun_follows_first"}
    found = store.verify(now=Instant(NOW + SECOND_US))
    return [each._asdict() for each in found if each.invariant in about_jobs]
