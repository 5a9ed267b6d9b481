"""The key of a job outlives it: the same key makes no second job, and versions only rise."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from holdfast.core.job.event import CancelRequested
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import Instant
from holdfast.core.values.retention import Retention
from holdfast.store.contract import ExistingJob, NewJob, Store
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.retention.samples import (
    KEEP_S,
    complete,
    failed,
    id_made_now,
    left_of,
    purged,
    resolve,
)
from holdfast.testing.conformance.samples import (
    NOW,
    PLAN,
    a_twin,
    after,
    after_event,
    claim,
    new_job,
)

_LATER = after(10 * KEEP_S)
_RACES = 30
FORGETFUL = Plan("letters", PLAN.stages, keeps_keys=False)
REMEMBERING = Plan("letters", PLAN.stages, remembers=("change", "version", "absent"))


def removed(store: Store, *, now: Instant = _LATER, **changes: Any) -> Job:
    """A job that was complete and is removed."""
    job = complete(store, **changes)
    assert purged(store, now=now)["jobs"] == 1
    assert left_of(store, job.id) == []
    return job


def wanted(**changes: Any) -> NewJob:
    """A submission under the key of these tests."""
    return new_job(id=id_made_now(), **{"key": "k", "fingerprint": "f", **changes})


def kept(job: Job, **changes: Any) -> ExistingJob:
    """What is left of a job that was complete."""
    twin = a_twin(job.id, job.version, "f", JobState.COMPLETE, finished_at=NOW)
    return twin._replace(**{"removed_at": _LATER, **changes})


class KeyConformance:
    """What a store promises about the keys of jobs that were removed."""

    def test_the_key_of_a_removed_job_makes_no_second_one(
        self, store: Store, other_store: Store
    ) -> None:
        job = removed(store, key="k", fingerprint="f")
        again, another = wanted(), wanted(key="other")

        assert other_store.insert([again]) == [kept(job)]
        assert store.insert([again, another]) == [kept(job), None]
        with store.transaction() as connection:
            assert store.insert([again], connection=connection) == [kept(job)]
        assert list(store.get([again.id, another.id])) == [another.id]
        assert store.twins(owner="", pipeline="letters", key="k") == [kept(job)]

    def test_a_kept_key_is_of_an_owner_and_a_pipeline(self, store: Store) -> None:
        removed(store, key="k", fingerprint="f", owner="ada")

        others = [wanted(), wanted(owner="bob"), wanted(owner="ada", pipeline="parcels")]
        assert store.insert(others) == [None, None, None]
        assert store.insert([wanted(owner="ada")]) != [None]

    def test_a_job_without_a_key_leaves_nothing(self, store: Store) -> None:
        removed(store)

        assert store.insert([new_job(id=id_made_now())]) == [None]

    def test_what_a_failed_job_ended_with_is_kept(self, store: Store) -> None:
        job = failed(store, key="k", fingerprint="f")
        resolve(store, job, now=NOW)
        purged(store, now=_LATER)

        (twin,) = store.twins(owner="", pipeline="letters", key="k")
        assert (twin.job_id, twin.state, twin.finished_at) == (job.id, JobState.FAILED, NOW)

    def test_every_version_that_was_removed_is_known_and_the_highest_counts(
        self, store: Store
    ) -> None:
        first = complete(store, key="k", fingerprint="f")
        third = wanted(version=3, rerun_of=first.id)
        assert store.insert_rerun(third) is None
        _cancel(store)
        purged(store, now=_LATER)
        purged(store, now=_LATER)

        twins = store.twins(owner="", pipeline="letters", key="k")
        assert [(twin.version, twin.job_id) for twin in twins] == [(1, first.id), (3, third.id)]
        for version in (2, 3):
            standing = store.insert_rerun(wanted(version=version))
            assert standing is not None
            assert (standing.job_id, standing.version) == (third.id, 3)
        fourth = wanted(version=4)
        assert store.insert_rerun(fourth) is None
        assert store.insert_rerun(fourth) is None, "one whose answer was lost is repeated"
        assert [twin.version for twin in store.twins(owner="", pipeline="letters", key="k")] == [
            1,
            3,
            4,
        ]

    def test_a_rerun_counts_the_versions_that_were_removed_before_its_first_job(
        self, store: Store
    ) -> None:
        first = complete(store, key="k", fingerprint="f")
        assert store.insert_rerun(wanted(version=5, rerun_of=first.id)) is None
        _cancel(store)
        purged(store, now=_LATER)
        assert left_of(store, first.id) != [], "it is there for a walk longer than its rerun"

        standing = store.insert_rerun(wanted(version=4, rerun_of=first.id))
        assert standing is not None
        assert standing.version == 5
        assert store.insert_rerun(wanted(version=6, rerun_of=first.id)) is None

    def test_a_key_goes_at_the_instant_its_time_is_over_and_is_free_then(
        self, store: Store
    ) -> None:
        job = removed(store, key="k", fingerprint="f")
        keep = Retention(keys=KEEP_S)
        over = Instant(_LATER + int(KEEP_S * 1_000_000))

        assert purged(store, now=Instant(over - 1), keep=keep) == {}
        assert store.insert([wanted()]) == [kept(job)]
        assert purged(store, now=over, keep=keep, dry_run=True) == {"keys": 1}
        assert purged(store, now=over, keep=keep) == {"keys": 1}
        assert store.insert([wanted()]) == [None]

    def test_keys_are_kept_for_ever_unless_an_operator_says_otherwise(self, store: Store) -> None:
        job = removed(store, key="k", fingerprint="f")

        assert purged(store, now=after(10**9), keep=Retention()) == {}
        assert store.insert([wanted()]) == [kept(job)]

    def test_a_pipeline_may_let_its_keys_go_with_its_jobs(self, store: Store) -> None:
        store.save_plan(FORGETFUL, now=NOW)
        removed(store, key="k", fingerprint="f", plan=FORGETFUL.digest)

        assert store.insert([wanted(), new_job(id=id_made_now())]) == [None, None]

    def test_a_pipeline_may_remember_some_of_the_payload(self, store: Store) -> None:
        store.save_plan(REMEMBERING, now=NOW)
        payload = json.dumps({"change": "it's % odd", "version": 3, "to": "ada@example.org"})
        removed(store, key="k", fingerprint="f", plan=REMEMBERING.digest, payload=payload)
        removed(store, key="odd", plan=REMEMBERING.digest, payload='"no object"')

        (twin,) = store.twins(owner="", pipeline="letters", key="k")
        assert json.loads(twin.memo or "") == {"change": "it's % odd", "version": 3}
        (odd,) = store.twins(owner="", pipeline="letters", key="odd")
        assert odd.memo is None

    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "among others"])
    def test_a_key_that_is_submitted_while_its_job_goes_makes_no_second_job(
        self, store: Store, other_store: Store, *, alone: bool
    ) -> None:
        for number in range(_RACES):
            first = complete(store, key=f"k-{number}", fingerprint="f")
            again = [wanted(key=first.key)]
            if not alone:
                again.append(new_job(id=id_made_now()))
            twins: list[ExistingJob | None] = []
            both: list[Callable[[], object]] = [
                partial(purged, store, now=_LATER),
                partial(_insert, other_store, again, twins),
            ]
            at_once(both)

            assert twins[0] is not None
            assert twins[0].job_id == first.id
            assert left_of(store, again[0].id) == []
            assert twins[1:] == [None] * (len(again) - 1)

    def test_of_many_reruns_of_a_removed_key_versions_only_rise(
        self, store: Store, other_store: Store
    ) -> None:
        keys = [f"k-{number}" for number in range(5)]
        for key in keys:
            removed(store, key=key, fingerprint="f")
        for key in keys:
            reruns = [wanted(key=key, version=version) for version in range(2, 8)]
            at_once([partial(other_store.insert_rerun, rerun) for rerun in reruns])

            stored = store.get([rerun.id for rerun in reruns])
            assert len(stored) == 1, "the first that comes is the first job of the key again"


def _cancel(store: Store) -> None:
    """End the one job that is due."""
    (job,) = claim(store, limit=1)
    after_event(store, job, CancelRequested("ada"))


def _insert(store: Store, jobs: list[NewJob], twins: list[ExistingJob | None]) -> None:
    twins += store.insert(jobs)
