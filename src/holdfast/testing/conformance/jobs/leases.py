"""Leases live as long as their holder says so, and no longer."""

from holdfast.core.job.event import Done, Interrupted, LeaseExpired
from holdfast.core.job.job import WorkerId
from holdfast.core.job.lease import Lease, lease_of
from holdfast.store.contract import Store
from holdfast.testing.conformance.samples import (
    LEASE_US,
    WORKER,
    after,
    after_event,
    claim,
    decided,
    next_id,
    read,
    started,
    submitted,
)


class RenewConformance:
    """What `renew` promises."""

    def test_a_renewal_moves_the_end_of_the_lease_and_nothing_else(self, store: Store) -> None:
        job = started(store)
        lease = lease_of(job)

        kept = store.renew([lease], holder=WORKER, lease_us=LEASE_US, now=after(30))

        assert kept == {lease}
        assert read(store, job.id) == job._replace(lease_until=after(90))

    def test_a_result_decided_before_a_renewal_is_still_accepted(self, store: Store) -> None:
        job = started(store)
        decision = decided(job, Done('"drafted"'), now=after(29))
        store.renew([lease_of(job)], holder=WORKER, lease_us=LEASE_US, now=after(30))

        assert store.apply([decision]) == {job.id}

    def test_many_leases_are_renewed_at_once(self, store: Store) -> None:
        submitted(store, 200)
        leases = {lease_of(job) for job in claim(store, limit=200)}

        assert store.renew(leases, holder=WORKER, lease_us=LEASE_US, now=after(1)) == leases
        assert store.renew([], holder=WORKER, lease_us=LEASE_US, now=after(1)) == set()

    def test_only_the_holder_renews(self, store: Store) -> None:
        job = started(store)

        stranger = WorkerId("worker-2")

        assert (
            store.renew([lease_of(job)], holder=stranger, lease_us=LEASE_US, now=after(1)) == set()
        )
        assert read(store, job.id) == job

    def test_a_lease_that_was_handed_back_is_gone(self, store: Store) -> None:
        job = started(store)
        back = after_event(store, job, Interrupted())

        assert store.renew([lease_of(job)], holder=WORKER, lease_us=LEASE_US, now=after(1)) == set()
        assert read(store, job.id) == back

    def test_an_older_lease_of_the_same_worker_is_gone(self, store: Store) -> None:
        old = started(store)
        queued = after_event(store, old, LeaseExpired(), now=after(61))
        (new,) = claim(store, now=queued.run_at)

        kept = store.renew(
            [lease_of(old), lease_of(new)], holder=WORKER, lease_us=LEASE_US, now=after(80)
        )

        assert kept == {lease_of(new)}

    def test_an_older_lease_prolongs_no_newer_one(self, store: Store) -> None:
        old = started(store)
        queued = after_event(store, old, LeaseExpired(), now=after(61))
        (new,) = claim(store, now=queued.run_at)

        kept = store.renew([lease_of(old)], holder=WORKER, lease_us=LEASE_US, now=after(80))

        assert kept == set()
        assert read(store, new.id) == new

    def test_a_lease_that_ended_but_was_not_taken_back_is_still_held(self, store: Store) -> None:
        job = started(store)

        kept = store.renew([lease_of(job)], holder=WORKER, lease_us=LEASE_US, now=after(120))

        assert kept == {lease_of(job)}
        assert store.expired(now=after(121), after=None, limit=10) == []

    def test_a_lease_of_no_known_job_is_not_held(self, store: Store) -> None:
        lease = Lease(next_id(), 1)

        assert store.renew([lease], holder=WORKER, lease_us=LEASE_US, now=after(1)) == set()
