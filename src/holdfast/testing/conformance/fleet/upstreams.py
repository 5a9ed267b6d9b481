"""Upstreams and the record: one row for the whole fleet, written by who read it last."""

from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.upstream.breaker import (
    ForceAsked,
    Observed,
    PermitsAsked,
    RateLimited,
    TrialEnded,
    decide_breaker,
)
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate, Permit, Sample, UpstreamState
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Store
from holdfast.store.tables.audit import ENGINE, AuditEntry
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.samples import NOW, RETRY, after, entries

POLICY = Breaker(consecutive=3, cooldown=30, trials=1, trial_timeout=60)
_THREADS = 8

EVERYTHING = UpstreamState(
    "gateway",
    gate=Gate.HALF_OPEN,
    generation=7,
    since=NOW,
    open_until=after(30),
    reopenings=2,
    successes=1,
    granted=3,
    permits=(Permit(3, "worker-1", after(60)),),
    samples=(Sample(NOW, "worker-1", 4, 5),),
    paused_until=after(10),
    forced=Gate.OPEN,
    forced_by="ada",
    forced_reason="it's {odd}, 'really' \\ \"so\" % … \U0001f6a7",
)


def entry(action: str, subject: str = "gateway", *, at: Instant = NOW) -> AuditEntry:
    """What the audit log says of a person's action."""
    return AuditEntry(
        at, "ada", action, "upstream", subject, "it's % \\ odd", detail={"was": ["open", 1]}
    )


def saved(store: Store, upstream: UpstreamState, *audit: AuditEntry) -> UpstreamState:
    """Return the upstream as it was written; nobody else writes it in these tests."""
    found = store.upstreams.save(upstream, now=NOW, audit=audit)
    assert found is not None
    return found


def asked_for_a_permit(store: Store, worker: str, now: Instant) -> bool:
    """Return whether a worker got the right to a trial, however often others were faster."""
    while True:
        before = store.upstreams.get("gateway")
        decided = decide_breaker(before, PermitsAsked(worker, 1), POLICY, now)
        if decided is None:
            return False
        if store.upstreams.save(decided, now=now) is not None:
            return True


class UpstreamConformance:
    """What upstreams and the record of actions promise."""

    def test_an_upstream_that_nothing_is_known_about_is_as_new(self, store: Store) -> None:
        assert store.upstreams.get("gateway") == UpstreamState("gateway")
        assert store.upstreams.all() == []

    def test_an_upstream_is_read_as_it_was_saved(self, store: Store, other_store: Store) -> None:
        written = saved(store, EVERYTHING)

        assert written == EVERYTHING._replace(revision=1)
        assert other_store.upstreams.get("gateway") == written
        again = saved(other_store, written._replace(gate=Gate.CLOSED, forced=None))
        assert store.upstreams.get("gateway") == again
        assert again.revision == 2

    def test_upstreams_are_listed_by_name(self, store: Store) -> None:
        for name in ("mail", "Zebra", "gateway", "äther"):
            saved(store, UpstreamState(name))

        names = [upstream.name for upstream in store.upstreams.all()]
        assert names == ["Zebra", "gateway", "mail", "äther"]

    def test_the_upstreams_that_stored_plans_call_are_known(self, store: Store) -> None:
        assert store.upstreams.called() == set()
        stages = (StagePlan("one", RETRY, upstream="smtp"), StagePlan("two", RETRY))
        store.save_plan(Plan("letters", stages), now=NOW)
        store.save_plan(Plan("parcels", (StagePlan("one", RETRY, upstream="dhl"),)), now=NOW)
        store.save_plan(Plan("cards", stages), now=NOW)

        assert store.upstreams.called() == {"smtp", "dhl"}

    def test_who_decided_from_an_older_revision_writes_nothing(
        self, store: Store, other_store: Store
    ) -> None:
        first = saved(store, UpstreamState("gateway"))
        newer = saved(other_store, first._replace(generation=5))

        assert store.upstreams.save(first._replace(generation=9), now=NOW) is None
        assert store.upstreams.save(UpstreamState("gateway"), now=NOW) is None
        assert store.upstreams.get("gateway") == newer

    def test_an_upstream_that_is_gone_is_not_brought_back_by_an_old_decision(
        self, store: Store
    ) -> None:
        assert store.upstreams.save(UpstreamState("gateway", revision=3), now=NOW) is None
        assert store.upstreams.all() == []

    def test_one_of_many_writes_a_new_upstream(self, store: Store, other_store: Store) -> None:
        def writer(number: int) -> Callable[[], UpstreamState | None]:
            own = (store, other_store)[number % 2]
            upstream = UpstreamState("gateway", generation=number)
            return lambda: own.upstreams.save(upstream, now=NOW, audit=[entry(f"by {number}")])

        answers = at_once([writer(number) for number in range(_THREADS)])

        (winner,) = [answer for answer in answers if answer is not None]
        assert store.upstreams.get("gateway") == winner
        (recorded,) = entries(store)
        assert recorded.action == f"by {winner.generation}"

    def test_one_of_many_that_read_the_same_revision_writes(
        self, store: Store, other_store: Store
    ) -> None:
        read = saved(store, UpstreamState("gateway"))

        def writer(number: int) -> Callable[[], UpstreamState | None]:
            own = (store, other_store)[number % 2]
            return lambda: own.upstreams.save(
                read._replace(generation=number + 1), now=NOW, audit=[entry(f"by {number + 1}")]
            )

        answers = at_once([writer(number) for number in range(_THREADS)])

        (winner,) = [answer for answer in answers if answer is not None]
        assert winner.revision == 2
        assert store.upstreams.get("gateway") == winner
        (recorded,) = entries(store)
        assert recorded.action == f"by {winner.generation}"

    def test_one_of_the_whole_fleet_gets_the_only_trial(
        self, store: Store, other_store: Store
    ) -> None:
        cooled = UpstreamState("gateway", gate=Gate.OPEN, generation=1, open_until=NOW)
        saved(store, cooled)

        def asker(number: int) -> Callable[[], bool]:
            own = (store, other_store)[number % 2]
            return lambda: asked_for_a_permit(own, f"worker-{number}", NOW)

        answers = at_once([asker(number) for number in range(_THREADS)])

        assert answers.count(True) == 1
        found = store.upstreams.get("gateway")
        assert (found.gate, found.granted) == (Gate.HALF_OPEN, 1)
        assert found.permits[0].worker == f"worker-{answers.index(True)}"

    def test_evidence_of_many_workers_is_all_counted(
        self, store: Store, other_store: Store
    ) -> None:
        policy = Breaker(failure_rate=1.0, over_calls=1_000)

        def reporter(number: int) -> Callable[[], None]:
            def report() -> None:
                rows = (store, other_store)[number % 2].upstreams
                told = 0
                while told < 5:
                    event = Observed(f"worker-{number}", 0, ((0, 1),), fleet=_THREADS)
                    decided = decide_breaker(rows.get("gateway"), event, policy, NOW)
                    assert decided is not None
                    told += rows.save(decided, now=NOW) is not None

            return report

        at_once([reporter(number) for number in range(_THREADS)])

        found = store.upstreams.get("gateway")
        assert sum(sample.failed for sample in found.samples) == 5 * _THREADS
        assert found.revision == 5 * _THREADS

    def test_a_whole_life_of_a_breaker_is_kept(self, store: Store, other_store: Store) -> None:
        stores, now = [store, other_store], NOW
        gates: list[Gate] = []
        for event, at in (
            (Observed("a", 0, ((0, 3),)), NOW),
            (PermitsAsked("b", 1), after(30)),
            (TrialEnded(2, 1, fine=False), after(31)),
            (PermitsAsked("a", 1), after(91)),
            (TrialEnded(4, 1, fine=True), after(92)),
            (RateLimited(after(100)), after(93)),
            (ForceAsked(Gate.OPEN, "ada", "drill"), after(94)),
            (ForceAsked(None, "ada"), after(95)),
        ):
            stores.reverse()
            own, now = stores[0].upstreams, at
            decided = decide_breaker(own.get("gateway"), event, POLICY, now)
            assert decided is not None
            assert own.save(decided, now=now) is not None
            gates.append(stores[1].upstreams.get("gateway").gate)

        assert gates == [
            *(Gate.OPEN, Gate.HALF_OPEN, Gate.OPEN, Gate.HALF_OPEN),
            *[Gate.CLOSED] * 4,
        ]
        assert store.upstreams.get("gateway") == UpstreamState(
            "gateway",
            revision=8,
            generation=7,
            since=now,
            # From 0 to 30, from 31 to 91 and from 94 to 95 seconds.
            open_us=after(91) - NOW,
        )

    def test_a_store_that_is_opened_changes_nothing(self, store: Store) -> None:
        written = saved(store, EVERYTHING, entry("forced open"))

        with closing(store.reserve("newcomer")) as newcomer:
            newcomer.migrate()
            newcomer.check_schema()
            found, recorded = newcomer.upstreams.all(), entries(newcomer)

        assert (found, recorded) == ([written], [entry("forced open")])
        assert store.upstreams.get("gateway") == written

    def test_the_record_is_written_with_what_it_says_or_not_at_all(self, store: Store) -> None:
        first = saved(store, UpstreamState("gateway"), entry("one"), entry("two"))
        store.upstreams.save(UpstreamState("gateway"), now=NOW, audit=[entry("lost")])
        with pytest.raises(TypeError):
            store.upstreams.save(
                first, now=NOW, audit=[entry("good"), entry("bad")._replace(detail={"x": object()})]
            )

        assert [line.action for line in store.audit.latest()] == ["two", "one"]
        assert store.upstreams.get("gateway") == first

    def test_the_record_is_read_as_it_was_written_newest_first(self, store: Store) -> None:
        plain = AuditEntry(after(5), ENGINE, "opened", "upstream", "mail")
        saved(store, UpstreamState("gateway"), entry("one"))
        saved(store, UpstreamState("mail"), entry("two", "mail"), plain)
        other = entry("three", "gateway")._replace(subject_kind="job")
        saved(store, UpstreamState("third"), other)

        record = partial(entries, store)
        assert record() == [other, plain, entry("two", "mail"), entry("one")]
        assert record(limit=2) == [other, plain]
        assert record(subject_kind="upstream") == [plain, entry("two", "mail"), entry("one")]
        assert record(subject_kind="upstream", subject="gateway") == [entry("one")]
        assert record(subject_kind="upstream", subject="nobody") == []
