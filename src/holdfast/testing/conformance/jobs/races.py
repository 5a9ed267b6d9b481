"""Many at once: real threads, and two stores on one database."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from holdfast.core.job.event import CancelRequested, Done, LeaseExpired
from holdfast.core.job.job import JobState, WorkerId
from holdfast.core.job.lease import Lease, lease_of
from holdfast.core.values.ids import JobId
from holdfast.store.contract import ExistingJob, Store
from holdfast.testing.conformance.samples import (
    DRAFT,
    LEASE_US,
    NOW,
    PLAN,
    WORKER,
    after,
    claim,
    decided,
    new_job,
    read,
    submitted,
)

_THREADS = 8
_PATIENCE_S = 60.0

_T = TypeVar("_T")


def at_once(actions: Sequence[Callable[[], _T]]) -> list[_T]:
    """Runs all actions in threads that start together; their results in order."""
    barrier = threading.Barrier(len(actions))
    results: dict[int, _T] = {}
    errors: list[BaseException] = []

    def run(number: int, action: Callable[[], _T]) -> None:
        barrier.wait(_PATIENCE_S)
        try:
            results[number] = action()
        except BaseException as error:  # noqa: BLE001 - reported by the test's own thread
            errors.append(error)

    threads = [
        threading.Thread(target=run, args=(number, action), daemon=True)
        for number, action in enumerate(actions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE_S)
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(actions))]


class RaceConformance:
    """What holds however the threads of two stores interleave."""

    def test_two_write_at_once_where_the_store_says_so(
        self, store: Store, other_store: Store
    ) -> None:
        submitted(store, 2, stage="send")
        mine, others = claim(store, limit=2)

        def write_others() -> set[JobId]:
            return other_store.apply([decided(others, Done('"sent"'), now=after(1))])

        with store.transaction() as connection:
            applied = store.apply(
                [decided(mine, Done('"sent"'), now=after(1))], connection=connection
            )
            if store.writes_at_once:
                applied |= write_others()
        if not store.writes_at_once:
            applied |= write_others()

        assert applied == {mine.id, others.id}

    def test_no_lease_is_given_twice(self, store: Store, other_store: Store) -> None:
        ids = submitted(store, 240)

        def drain(own: Store, holder: WorkerId) -> list[Lease]:
            leases: list[Lease] = []
            while jobs := claim(own, limit=7, holder=holder):
                leases += [lease_of(job) for job in jobs]
            return leases

        def drainer(number: int) -> Callable[[], list[Lease]]:
            own = (store, other_store)[number % 2]
            return lambda: drain(own, WorkerId(f"worker-{number}"))

        shares = at_once([drainer(number) for number in range(_THREADS)])

        leases = [lease for share in shares for lease in share]
        assert Counter(leases) == Counter(Lease(job_id, 1) for job_id in ids)

    def test_no_lease_is_given_twice_by_ids(self, store: Store, other_store: Store) -> None:
        ids = submitted(store, 60)

        def taker(number: int) -> Callable[[], list[Lease]]:
            own, holder = (store, other_store)[number % 2], WorkerId(f"worker-{number}")
            return lambda: [
                lease_of(job)
                for start in range(0, len(ids), 10)
                for job in own.due.claim(
                    ids[start : start + 10], route=DRAFT, holder=holder, lease_us=LEASE_US, now=NOW
                )
            ]

        shares = at_once([taker(number) for number in range(_THREADS)])

        leases = [lease for share in shares for lease in share]
        assert Counter(leases) == Counter(Lease(job_id, 1) for job_id in ids)

    def test_no_decision_is_applied_twice(self, store: Store, other_store: Store) -> None:
        submitted(store, 60)
        jobs = claim(store, limit=60)
        decisions = [decided(job, Done('"drafted"')) for job in jobs]

        def applier(own: Store) -> Callable[[], list[str]]:
            def apply() -> list[str]:
                applied: list[str] = []
                for start in range(0, 60, 6):
                    applied += own.apply(decisions[start : start + 6])
                return applied

            return apply

        shares = at_once([applier((store, other_store)[number % 2]) for number in range(4)])

        applied = Counter(job_id for share in shares for job_id in share)
        assert applied == Counter(job.id for job in jobs)
        assert all(len(store.ledger(job.id)) == 1 for job in jobs)

    def test_batches_in_opposite_order_do_not_wait_for_each_other_for_ever(
        self, store: Store, other_store: Store
    ) -> None:
        submitted(store, 100)
        jobs = claim(store, limit=100)
        done = [decided(job, Done('"drafted"')) for job in jobs]
        cancelled = [decided(job, CancelRequested("ada")) for job in reversed(jobs)]

        first, second = at_once([lambda: store.apply(done), lambda: other_store.apply(cancelled)])

        assert not first & second
        assert first | second == {job.id for job in jobs}

    def test_one_of_many_submissions_wins_a_key(self, store: Store, other_store: Store) -> None:
        jobs = [new_job(key="k", fingerprint=str(number)) for number in range(_THREADS)]

        def submitter(number: int) -> Callable[[], ExistingJob | None]:
            own = (store, other_store)[number % 2]
            return lambda: own.insert([jobs[number]])[0]

        answers = at_once([submitter(number) for number in range(_THREADS)])

        assert answers.count(None) == 1
        winner = jobs[answers.index(None)]
        assert {answer.job_id for answer in answers if answer is not None} == {winner.id}
        assert len(store.twins(owner="", pipeline="letters", key="k")) == 1

    def test_batches_with_the_same_keys_agree_on_every_winner(
        self, store: Store, other_store: Store
    ) -> None:
        keys = [f"k-{number}" for number in range(30)]
        first = [new_job(key=key) for key in keys]
        second = [new_job(key=key) for key in reversed(keys)]

        answers = at_once([lambda: store.insert(first), lambda: other_store.insert(second)])

        won = [
            sum(answer is None for answer in answers[0]),
            sum(answer is None for answer in answers[1]),
        ]
        assert sum(won) == 30
        stored = store.get([job.id for job in (*first, *second)])
        assert len({job.key for job in stored.values()}) == len(stored) == 30

    def test_versions_only_rise_however_reruns_race(self, store: Store, other_store: Store) -> None:
        (first,) = submitted(store, key="k")
        reruns = [
            new_job(key="k", version=2 + number // 2, rerun_of=first) for number in range(_THREADS)
        ]

        def submitter(number: int) -> Callable[[], object]:
            own = (store, other_store)[number % 2]
            return lambda: own.insert_rerun(reruns[number])

        answers = at_once([submitter(number) for number in range(_THREADS)])

        stored = [job for job, answer in zip(reruns, answers, strict=True) if answer is None]
        versions = [twin.version for twin in store.twins(owner="", pipeline="letters", key="k")]
        assert versions == sorted({1, *(job.version for job in stored)})
        assert versions[-1] == max(job.version for job in reruns)

    def test_a_claim_and_a_cancel_of_one_job_do_not_both_win(
        self, store: Store, other_store: Store
    ) -> None:
        ids = submitted(store, 40)
        queued = store.get(ids)
        cancels = [decided(queued[job_id], CancelRequested("ada")) for job_id in ids]

        def cancel() -> set[str]:
            won: set[str] = set()
            for decision in reversed(cancels):
                won |= store.apply([decision])
            return won

        def drain() -> set[str]:
            won: set[str] = set()
            while jobs := claim(other_store, limit=1):
                won |= {job.id for job in jobs}
            return won

        cancelled, claimed = at_once([cancel, drain])

        assert not cancelled & claimed
        assert cancelled | claimed == set(ids)
        for job_id in ids:
            job = read(store, job_id)
            assert job.state is (JobState.CANCELLED if job_id in cancelled else JobState.PROCESSING)

    def test_a_lease_is_either_renewed_or_taken_back(
        self, store: Store, other_store: Store
    ) -> None:
        submitted(store, 30)
        jobs = claim(store, limit=30)
        late = after(61)
        reclaims = [decided(job, LeaseExpired(), now=late) for job in jobs]

        kept, reclaimed = at_once(
            [
                lambda: {
                    lease.job_id
                    for job in jobs
                    for lease in store.renew(
                        [lease_of(job)], holder=WORKER, lease_us=LEASE_US, now=late
                    )
                },
                lambda: {job_id for item in reclaims for job_id in other_store.apply([item])},
            ]
        )

        # A renewal leaves the revision alone, so a reclaim decided before it may still come after;
        # what must not be is a lease that counts as renewed after it was taken back.
        assert reclaimed == {job.id for job in jobs}
        again = {lease_of(job) for job in jobs}
        assert store.renew(again, holder=WORKER, lease_us=LEASE_US, now=late) == set()
        assert kept <= {job.id for job in jobs}

    def test_a_plan_saved_by_many_is_saved_once(self, store: Store, other_store: Store) -> None:
        def saver(own: Store) -> Callable[[], None]:
            return lambda: own.save_plan(PLAN, now=NOW)

        at_once([saver((store, other_store)[number % 2]) for number in range(_THREADS)])

        assert store.load_plan("letters", PLAN.digest) == PLAN

    def test_one_of_many_pauses_a_queue(self, store: Store, other_store: Store) -> None:
        def pauser(own: Store) -> Callable[[], bool]:
            return lambda: own.pause_queue("default", by="ada", now=NOW)

        answers = at_once([pauser((store, other_store)[number % 2]) for number in range(_THREADS)])

        assert answers.count(True) == 1

    def test_readers_never_see_a_decision_half_applied(
        self, store: Store, other_store: Store
    ) -> None:
        submitted(store, 200, stage="send")
        jobs = claim(store, limit=200)
        stop = threading.Event()

        def write() -> set[int]:
            try:
                for start in range(0, 200, 20):
                    store.apply([decided(job, Done('"sent"')) for job in jobs[start : start + 20]])
            finally:
                stop.set()
            return set()

        def watch() -> set[int]:
            """How long the histories of complete jobs are, each read after its row."""
            seen: set[int] = set()
            while not stop.is_set():
                for job in other_store.get([job.id for job in jobs]).values():
                    if job.state is JobState.COMPLETE:
                        seen.add(len(other_store.ledger(job.id)))
            return seen

        _, seen = at_once([write, watch])

        assert seen <= {1}
