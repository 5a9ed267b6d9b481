"""Rates of upstreams: one bucket for the whole fleet, beside what breakers write."""

from collections.abc import Callable

from holdfast.core.upstream.rate import Bucket, Slice, SliceAsked, decide_rate, room
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Store
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.samples import NOW, after

RATE = Rate(50, per=1, burst=20)
_THREADS = 8

FULL = Bucket(
    "gateway",
    full_at=after(7),
    slices=(Slice(3, "worker-1", 4, after(1), 2), Slice(4, "it's % \\ odd …", 1, after(2))),
    granted=4,
    begun=2**40,
    lapsed=17,
    short_at=NOW,
    calls=50,
    per_us=1_000_000,
    burst=20,
)


def kept(store: Store, bucket: Bucket) -> Bucket:
    """Return the bucket as it was written; nobody else writes it in these tests."""
    found = store.upstreams.save_bucket(bucket, now=NOW)
    assert found is not None
    return found


def asked_for_a_slice(store: Store, worker: str, now: Instant) -> Slice | None:
    """Return what a worker got, however often others were faster."""
    while True:
        before = store.upstreams.bucket("gateway")
        decided = decide_rate(before, SliceAsked(worker), RATE, now)
        if decided is None:
            return None
        if store.upstreams.save_bucket(decided, now=now) is not None:
            return decided.slices[-1] if decided.granted > before.granted else None


class RateConformance:
    """What the rates of upstreams promise."""

    def test_an_upstream_that_was_never_called_has_all_of_its_rate(self, store: Store) -> None:
        assert store.upstreams.bucket("gateway") == Bucket("gateway")
        assert store.upstreams.buckets() == {}

    def test_a_bucket_is_read_as_it_was_saved(self, store: Store, other_store: Store) -> None:
        written = kept(store, FULL)

        assert written == FULL._replace(revision=1)
        assert other_store.upstreams.bucket("gateway") == written
        again = kept(other_store, written._replace(slices=()))
        assert store.upstreams.buckets() == {"gateway": again}
        assert again.revision == 2

    def test_who_decided_from_an_older_bucket_writes_nothing(
        self, store: Store, other_store: Store
    ) -> None:
        first = kept(store, Bucket("gateway"))
        newer = kept(other_store, first._replace(begun=5))

        assert store.upstreams.save_bucket(first._replace(begun=9), now=NOW) is None
        assert store.upstreams.save_bucket(Bucket("gateway"), now=NOW) is None
        assert store.upstreams.bucket("gateway") == newer

    def test_a_bucket_that_is_gone_is_not_brought_back_by_an_old_decision(
        self, store: Store
    ) -> None:
        assert store.upstreams.save_bucket(Bucket("gateway", revision=3), now=NOW) is None
        assert store.upstreams.buckets() == {}

    def test_breakers_and_rates_of_an_upstream_do_not_stand_in_each_others_way(
        self, store: Store, other_store: Store
    ) -> None:
        rows, others = store.upstreams, other_store.upstreams
        bucket = kept(store, FULL)
        fresh = rows.get("gateway")
        assert fresh == UpstreamState("gateway", revision=1)
        opened = others.save(fresh._replace(gate=Gate.OPEN), now=NOW)
        emptied = kept(store, bucket._replace(slices=()))

        assert rows.get("gateway") == opened
        assert others.bucket("gateway") == emptied

    def test_the_rate_of_an_upstream_that_a_breaker_knows_begins_full(self, store: Store) -> None:
        upstream = store.upstreams.save(UpstreamState("gateway"), now=NOW)
        written = kept(store, Bucket("gateway"))

        assert written.revision == 1
        assert store.upstreams.get("gateway") == upstream

    def test_workers_that_ask_at_once_never_get_more_than_a_burst(
        self, store: Store, other_store: Store
    ) -> None:
        def asker(number: int) -> Callable[[], list[Slice]]:
            own = (store, other_store)[number % 2]

            def ask() -> list[Slice]:
                found = [asked_for_a_slice(own, f"w{number}", NOW) for _ in range(4)]
                return [each for each in found if each is not None]

            return ask

        found = at_once([asker(number) for number in range(_THREADS)])

        slices = [each for of_one in found for each in of_one]
        assert sum(each.calls for each in slices) == RATE.at_once
        assert len({each.number for each in slices}) == len(slices)
        assert room(store.upstreams.bucket("gateway"), RATE, NOW) == 0
