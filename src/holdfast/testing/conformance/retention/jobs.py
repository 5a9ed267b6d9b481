"""What goes when it has been kept long enough, what stays, and that nothing is left behind."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from holdfast.core.dead_letter.replay import ReplayState
from holdfast.core.job.event import CancelRequested, Done, Failed, RetryRequested
from holdfast.core.job.job import JobState
from holdfast.core.values.ids import JobId, id_before
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retention import DAY_S, PLAN_S, Retention
from holdfast.errors import UnknownJob
from holdfast.store.contract import NewJob, Store
from holdfast.store.tables.retention import Place, Section
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.retention.samples import (
    KEEP,
    KEEP_S,
    batches,
    cancelled,
    complete,
    failed,
    id_made_now,
    left_of,
    purged,
    refused,
    replays,
    resolve,
)
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PLAN,
    after,
    after_event,
    claim,
    new_job,
    started,
    submitted,
)


class PurgeConformance:
    """What `retention.purge` promises."""

    @pytest.mark.parametrize(
        ("end", "keep_s"),
        [(complete, KEEP_S), (cancelled, 2 * KEEP_S), (refused, 3 * KEEP_S)],
        ids=["complete", "cancelled", "refused"],
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

        purged(store, now=after(KEEP_S))

        assert left_of(store, job.id) == []
        assert _violations(store) == []

    def test_a_job_that_has_not_ended_never_goes(self, store: Store) -> None:
        running = started(store, id=id_made_now())
        (queued,) = submitted(store, id=id_made_now())

        assert purged(store, now=after(10**9)) == {}
        assert set(store.get([running.id, queued])) == {running.id, queued}

    def test_what_is_kept_for_ever_never_goes(self, store: Store) -> None:
        jobs = [complete(store), cancelled(store), refused(store), failed(store)]
        resolve(store, jobs[-1], now=NOW)
        for_ever = Retention(complete=None, cancelled=None, failed=None, audit=None, replays=None)

        assert purged(store, now=after(10**9), keep=for_ever) == {}
        assert len(store.get([job.id for job in jobs])) == len(jobs)

    def test_each_state_has_its_own_time(self, store: Store) -> None:
        kept, gone = cancelled(store), complete(store)
        keep = Retention(complete=KEEP_S, cancelled=None)

        assert purged(store, now=after(10 * KEEP_S), keep=keep) == {"jobs": 1}
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
        over = after(50 + 3 * KEEP_S)

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

        keep = Retention(complete=KEEP_S, failed=3 * KEEP_S, audit=None)
        assert purged(store, now=after(10**9), keep=keep) == {}
        resolve(store, job, now=after(2))
        assert purged(store, now=after(2 + 3 * KEEP_S - 0.1), keep=keep) == {}
        gone = purged(store, now=after(2 + 3 * KEEP_S), keep=keep)
        assert gone == {"jobs": 1, "letters": 1}
        assert left_of(store, job.id) == []

    def test_a_letter_without_a_job_goes_in_its_time(self, store: Store) -> None:
        job = failed(store)
        resolve(store, job, now=NOW)
        with_job = store.retention.purge(KEEP.cutoffs(NOW), Place())
        assert with_job.removed == {}
        _forget_job(store, job.id)

        assert purged(store, now=after(3 * KEEP_S)) == {"letters": 1}
        assert store.letters.get(job.id) is None

    def test_the_first_job_of_a_key_stays_while_a_rerun_of_it_stays(self, store: Store) -> None:
        first = complete(store, key="k", fingerprint="f")
        rerun = new_job(id=id_made_now(), key="k", fingerprint="f", version=2, rerun_of=first.id)
        assert store.insert_rerun(rerun) is None

        assert purged(store, now=after(10 * KEEP_S)) == {}
        (running,) = claim(store, limit=1)
        after_event(store, running, CancelRequested("ada"))
        assert purged(store, now=after(10 * KEEP_S)) == {"jobs": 1}
        assert left_of(store, rerun.id) == []
        assert purged(store, now=after(10 * KEEP_S)) == {"jobs": 1}
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

        assert purged(store, now=after(10 * KEEP_S)) == {}
        assert left_of(store, first.id) == ["job", "ledger", "letter"]

    def test_a_batch_looks_at_so_many_rows_and_says_where_to_go_on(self, store: Store) -> None:
        jobs = [complete(store) for _ in range(7)]

        made = [
            batch
            for batch in batches(store, now=after(KEEP_S), limit=3)
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

        assert purged(store, now=after(3 * KEEP_S), limit=2) == {"jobs": 6, "letters": 5}
        assert left_of(store, gone.id) == []
        assert len(store.get([job.id for job in kept])) == 5

    def test_jobs_made_later_are_not_even_looked_at(self, store: Store) -> None:
        complete(store)
        store.insert([new_job(id=id_before(after(3600 + number))) for number in range(10)])

        made = batches(store, now=after(KEEP_S + 2), limit=100)

        assert sum(batch.seen for batch in made if batch.section is Section.JOBS) == 1

    def test_a_dry_run_counts_and_removes_nothing(self, store: Store) -> None:
        store.save_plan(PLAN, now=NOW)
        jobs = [complete(store), failed(store), cancelled(store)]
        resolve(store, jobs[1], now=NOW)
        now = after(PLAN_S + 4 * DAY_S)
        replays(store, ReplayState.DONE)

        counted = purged(store, now=now, dry_run=True)

        assert {job.id for job in jobs} == set(store.get([job.id for job in jobs]))
        assert counted == {"jobs": 3, "letters": 1, "replays": 1, "audit": 2}
        # Without its jobs nothing uses the plan.
        assert purged(store, now=now) == {**counted, "plans": 1}

    def test_two_that_purge_at_once_remove_everything_once(
        self, store: Store, other_store: Store
    ) -> None:
        store.insert([new_job(id=id_made_now()) for _ in range(60)])
        for job in claim(store, limit=60):
            after_event(store, job, CancelRequested("ada"))
        now = after(10 * KEEP_S)

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
                partial(purged, store, now=after(KEEP_S)),
                partial(_attempt_rerun, other_store, rerun),
            ]
            at_once(both)

            assert ("job" in left_of(store, first.id)) == ("job" in left_of(store, rerun.id))


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
