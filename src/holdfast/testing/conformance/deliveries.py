"""Deliveries: one per recipient and version, leased to one courier, written under a revision."""

import itertools
from typing import Any

import pytest

from holdfast.core.delivery.delivery import Delivery, DeliveryKey, DeliveryState, intent
from holdfast.core.delivery.log import DeliveryAttempt, Outcome
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.deliveries import CHUNK, SUBJECT, DeliveryFilter, DeliveryStanding
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.samples import LEASE_US, NOW, after, entries, next_id

_recipients = itertools.count()
_THREADS = 8


def new_delivery(**changes: Any) -> Delivery:
    """A delivery to a new recipient that is due at `NOW`."""
    key: dict[str, Any] = {
        "subject": "review-1",
        "recipient": f"r{next(_recipients)}@example.test",
        "version": 1,
        "provider": "mail",
    }
    key |= {name: changes[name] for name in key if name in changes}
    message = '{"to":"it\'s %s \\\\ odd","text":"\U0001f6a7 {odd}"}'
    made = intent(next_id(), **key, message=message, now=NOW)
    return made._replace(**changes)


def stored(store: Store, **changes: Any) -> Delivery:
    """A new delivery as the store has it."""
    (delivery,) = store.deliveries.ensure([new_delivery()])
    if not changes:
        return delivery
    return written(store, delivery._replace(**changes))


def written(store: Store, delivery: Delivery) -> Delivery:
    """Return the delivery after a write that nobody disturbs."""
    return store.deliveries.apply([delivery])[delivery.id]


def claimed(store: Store, *, limit: int = 10, now: Instant = NOW, **options: Any) -> list[Delivery]:
    """A claim of what is usual in these tests."""
    given: dict[str, Any] = {"holder": "courier-1", "lease_us": LEASE_US, **options}
    return store.deliveries.claim("mail", limit=limit, now=now, **given)


EVERYTHING: dict[str, Any] = {
    "job_id": "0190-job",
    "stage": "notify",
    "required": False,
    "state": DeliveryState.UNKNOWN,
    "run_at": after(1),
    "holder": "courier-9",
    "lease_until": after(2),
    "attempts": 3,
    "lookups": 4,
    "began_at": after(5),
    "notification_id": "<m-1@mail>",
    "notified_at": after(6),
    "error_class": "NETWORK",
    "error": '{"message":"it\'s % odd"}',
    "checked_at": after(7),
    "job_told": True,
    "updated_at": after(8),
    "doubted_at": after(9),
}


def logged(delivery: Delivery, **changes: Any) -> DeliveryAttempt:
    """A line in the log of a delivery, for its next revision."""
    line = DeliveryAttempt(
        delivery_id=delivery.id,
        revision=delivery.revision + 1,
        at=NOW,
        attempt=1,
        outcome=Outcome.IN_DOUBT,
        error_class="UPSTREAM_5XX",
        http_status=503,
        notification_id="<m-1@mail>",
        holder="courier-1",
        message="it's % odd 🚧",
    )
    return line._replace(**changes)


class DeliveryConformance:
    """What a store promises about deliveries."""

    def test_a_delivery_is_read_as_it_was_made(self, store: Store, other_store: Store) -> None:
        made = new_delivery(job_id="0190-job", stage="notify", required=False, run_at=after(3))

        assert store.deliveries.ensure([made]) == [made]
        assert other_store.deliveries.get(made.id) == made
        assert store.deliveries.get("0190-nobody") is None

    def test_a_recipient_has_one_delivery_for_a_version_and_the_first_stays(
        self, store: Store, other_store: Store
    ) -> None:
        first = new_delivery()
        again = first._replace(id=next_id(), message='"another"', provider="post")
        rerun = first._replace(id=next_id(), version=2)
        store.deliveries.ensure([first])

        assert other_store.deliveries.ensure([again, rerun]) == [first, rerun]
        assert store.deliveries.get(again.id) is None

    def test_many_deliveries_are_made_at_once_and_returned_in_their_order(
        self, store: Store
    ) -> None:
        made = [new_delivery() for _ in range(CHUNK + 3)]
        store.deliveries.ensure(made[5:7])

        assert store.deliveries.ensure(made) == made
        assert store.deliveries.ensure([made[1], made[0], made[1]]) == [made[1], made[0], made[1]]
        assert store.deliveries.ensure([]) == []

    def test_of_many_who_make_the_same_delivery_one_does(self, store: Store) -> None:
        recipient = "one@example.test"

        def make() -> list[Delivery]:
            return store.deliveries.ensure([new_delivery(recipient=recipient)])

        found = at_once([make] * _THREADS)

        assert len({delivery.id for (delivery,) in found}) == 1

    def test_the_log_is_written_with_the_delivery_and_read_in_its_order(
        self, store: Store, other_store: Store
    ) -> None:
        first, other = stored(store), stored(store)
        lines = []
        for outcome in (Outcome.IN_DOUBT, Outcome.FOUND):
            lines.append(logged(first, outcome=outcome))
            first = store.deliveries.apply([first], log=[lines[-1], None])[first.id]

        found = other_store.deliveries.attempts([other.id, first.id])
        assert found == {first.id: lines, other.id: []}
        assert store.deliveries.attempts([]) == {}

    def test_the_log_says_nothing_of_a_delivery_that_has_moved_on(self, store: Store) -> None:
        stale, fresh = stored(store), stored(store)
        store.deliveries.apply([stale])
        written = store.deliveries.apply([stale, fresh], log=[logged(stale), logged(fresh)])

        assert set(written) == {fresh.id}
        found = store.deliveries.attempts([stale.id, fresh.id])
        assert found == {stale.id: [], fresh.id: [logged(fresh)]}

    def test_deliveries_are_made_in_a_transaction_or_not_at_all(self, store: Store) -> None:
        kept, dropped = new_delivery(), new_delivery()
        with store.transaction() as connection:
            assert store.deliveries.ensure([kept], connection=connection) == [kept]
        with pytest.raises(ZeroDivisionError):
            self._broken_off(store, dropped)

        assert store.deliveries.get(kept.id) == kept
        assert store.deliveries.get(dropped.id) is None

    @staticmethod
    def _broken_off(store: Store, made: Delivery) -> None:
        with store.transaction() as connection:
            store.deliveries.ensure([made], connection=connection)
            raise ZeroDivisionError

    def test_every_column_is_written_and_read(self, store: Store) -> None:
        delivery = stored(store)

        changed = written(store, delivery._replace(**EVERYTHING))

        assert changed == delivery._replace(**EVERYTHING, revision=1)
        assert store.deliveries.get(delivery.id) == changed

    def test_what_was_decided_from_an_older_revision_is_not_written(self, store: Store) -> None:
        seen, other = stored(store), stored(store)
        newer = written(store, seen._replace(attempts=1))

        found = store.deliveries.apply([seen._replace(attempts=7), other._replace(attempts=2)])

        assert found == {other.id: other._replace(attempts=2, revision=1)}
        assert store.deliveries.get(seen.id) == newer
        assert store.deliveries.apply([]) == {}

    def test_of_many_who_decide_at_once_one_writes(self, store: Store) -> None:
        delivery = stored(store)

        def decide() -> dict[str, Delivery]:
            return store.deliveries.apply([delivery._replace(attempts=1)])

        written_by = [found for found in at_once([decide] * _THREADS) if found]

        assert len(written_by) == 1

    def test_the_record_is_written_with_the_delivery_or_not_at_all(self, store: Store) -> None:
        delivery = stored(store)
        entry = AuditEntry(NOW, "ada", "resend", SUBJECT, delivery.id, "bounced")

        store.deliveries.apply([delivery._replace(revision=9)], audit=[entry])
        assert entries(store) == []
        store.deliveries.apply([delivery], audit=[entry])
        assert entries(store) == [entry]

    def test_a_claim_leases_what_is_due_the_longest_due_first(self, store: Store) -> None:
        due = [new_delivery(run_at=after(-number)) for number in (1, 3, 2)]
        others = [new_delivery(run_at=after(0.000001)), new_delivery(provider="post")]
        store.deliveries.ensure([*due, *others])

        first = claimed(store, limit=2)

        assert {delivery.id for delivery in first} == {due[1].id, due[2].id}
        assert {delivery.id for delivery in claimed(store)} == {due[0].id}
        assert claimed(store) == []
        (one,) = [delivery for delivery in first if delivery.id == due[1].id]
        assert one == due[1]._replace(
            revision=1, holder="courier-1", lease_until=after(60), run_at=after(60)
        )
        assert store.deliveries.get(one.id) == one

    def test_a_claim_takes_what_is_in_doubt_and_nothing_that_has_ended(self, store: Store) -> None:
        doubted = stored(store, state=DeliveryState.SENDING, began_at=NOW)
        for state in (DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.UNKNOWN):
            stored(store, state=state)

        assert [delivery.id for delivery in claimed(store)] == [doubted.id]

    def test_no_two_claims_get_the_same_delivery(self, store: Store) -> None:
        made = store.deliveries.ensure([new_delivery() for _ in range(40)])

        claims = at_once([lambda: claimed(store, limit=7)] * _THREADS)

        # A claim may come away with less when others were faster.
        taken = [delivery.id for found in (*claims, claimed(store, limit=40)) for delivery in found]
        assert sorted(taken) == sorted(delivery.id for delivery in made)

    def test_a_lease_that_has_ended_is_lost_and_is_not_claimed(self, store: Store) -> None:
        stored(store)
        (held,) = claimed(store)

        assert store.deliveries.lost("mail", now=after(60), limit=5) == []
        assert store.deliveries.lost("post", now=after(61), limit=5) == []
        assert store.deliveries.lost("mail", now=after(61), limit=5) == [held]
        assert claimed(store, now=after(61)) == []
        let_go = written(store, held._replace(holder=None, lease_until=None, run_at=after(61)))
        assert store.deliveries.lost("mail", now=after(99), limit=5) == []
        assert [delivery.id for delivery in claimed(store, now=after(61))] == [let_go.id]

    def test_deliveries_are_found_by_what_they_are(self, store: Store) -> None:
        first = stored(store)
        second = stored(store, state=DeliveryState.UNKNOWN, job_id="0190-job", error_class="BUG")
        (third,) = store.deliveries.ensure(
            [new_delivery(subject="s-2", version=3, provider="post", created_at=after(5))]
        )

        def found(**wanted: Any) -> list[str]:
            page = store.deliveries.find(DeliveryFilter(**wanted), before=None, limit=10)
            return [delivery.id for delivery in page]

        assert found() == [third.id, second.id, first.id]
        assert found(states=(DeliveryState.UNKNOWN, DeliveryState.FAILED)) == [second.id]
        assert found(provider="post") == found(subject="s-2") == found(version=3) == [third.id]
        assert found(recipient=first.recipient) == [first.id]
        assert found(job_id="0190-job") == found(error_class="BUG") == [second.id]
        assert found(created_since=after(5)) == [third.id]
        assert found(created_until=after(5)) == [second.id, first.id]
        page = store.deliveries.find(DeliveryFilter(), before=third.id, limit=1)
        assert [delivery.id for delivery in page] == [second.id]

    def test_the_deliveries_of_a_job_are_its_own(self, store: Store) -> None:
        made = [new_delivery(job_id=job) for job in ("job-1", "job-2", "job-1", None)]
        store.deliveries.ensure(made)

        assert store.deliveries.of_job("job-1") == [made[0], made[2]]
        assert store.deliveries.of_job("job-3") == []

    def test_deliveries_are_found_by_what_they_were_made_for(self, store: Store) -> None:
        made = [
            new_delivery(subject=subject, recipient="ada@example.org", version=version)
            for subject, version in (("s-1", 1), ("s-1", 2), ("s-2", 1))
        ]
        store.deliveries.ensure(made)
        wanted = [
            DeliveryKey("s-1", "ada@example.org", 2),
            DeliveryKey("s-2", "ada@example.org", 1),
            DeliveryKey("s-2", "ada@example.org", 1),
            DeliveryKey("s-2", "bob@example.org", 1),
        ]

        found = store.deliveries.of_keys(wanted)

        assert sorted(each.id for each in found) == sorted([made[1].id, made[2].id])
        assert store.deliveries.of_keys([]) == []

    def test_a_job_is_untold_until_it_was_looked_at_since_its_deliveries_ended(
        self, store: Store
    ) -> None:
        open_, sent, failed, nobodys, unknown = store.deliveries.ensure(
            [new_delivery(job_id=job) for job in ("job-1", "job-1", "job-2", None, "job-3")]
        )
        sent = written(store, sent._replace(state=DeliveryState.SENT))
        failed = written(store, failed._replace(state=DeliveryState.FAILED))
        written(store, nobodys._replace(state=DeliveryState.SENT))

        assert store.deliveries.untold(after="", limit=10) == ["job-1", "job-2"]
        assert store.deliveries.untold(after="job-1", limit=10) == ["job-2"]
        assert store.deliveries.untold(after="", limit=1) == ["job-1"]
        store.deliveries.told("job-1", [open_, sent])
        store.deliveries.told("job-2", [failed._replace(revision=0)])
        assert store.deliveries.untold(after="", limit=10) == ["job-2"]
        written(store, open_._replace(state=DeliveryState.FAILED))
        assert store.deliveries.untold(after="", limit=10) == ["job-1", "job-2"]
        assert store.deliveries.get(sent.id) == sent._replace(job_told=True)
        unknown = written(store, unknown._replace(state=DeliveryState.UNKNOWN, began_at=NOW))
        assert store.deliveries.untold(after="job-2", limit=10) == ["job-3"]
        store.deliveries.told("job-3", [unknown])
        assert store.deliveries.untold(after="job-2", limit=10) == []

    def test_marks_that_nobody_has_confirmed_are_found_the_oldest_first(self, store: Store) -> None:
        later_, first = (
            stored(store, state=DeliveryState.SENT, notified_at=after(at)) for at in (9, 5)
        )
        stored(store, state=DeliveryState.SENT, notified_at=after(6), checked_at=after(7))

        def unchecked(
            since: float, until: float, provider: str = "mail", after_: str = ""
        ) -> list[str]:
            found = store.deliveries.unchecked(
                provider, since=after(since), after=after_, until=after(until), limit=5
            )
            return [delivery.id for delivery in found]

        assert unchecked(0, 9) == unchecked(5, 9) == [first.id, later_.id]
        assert unchecked(5, 9, after_=first.id) == [later_.id]
        assert unchecked(0, 8) == [first.id]
        assert unchecked(0, 9, "post") == []

    def test_unknown_deliveries_are_found_unless_they_were_looked_up_of_late(
        self, store: Store
    ) -> None:
        never = stored(store, state=DeliveryState.UNKNOWN)
        before = stored(store, state=DeliveryState.UNKNOWN, checked_at=after(5))

        def unknown(until: float) -> list[str]:
            found = store.deliveries.unknown("mail", until=after(until), limit=5)
            return [delivery.id for delivery in found]

        assert unknown(4) == [never.id]
        assert unknown(5) == [never.id, before.id]
        assert store.deliveries.unknown("post", until=after(9), limit=5) == []

    def test_a_delivery_keeps_the_trace_it_was_made_with(self, store: Store) -> None:
        (made,) = store.deliveries.ensure([new_delivery(trace="00-ab-cd-01;a=b")])
        moved = written(store, made._replace(attempts=1, trace="another"))

        assert made.trace == "00-ab-cd-01;a=b"
        found = store.deliveries.get(moved.id)
        assert found is not None
        assert found.trace == "00-ab-cd-01;a=b"

    def test_the_standing_tells_since_when_what_has_not_ended_well_is_there(
        self, store: Store
    ) -> None:
        store.deliveries.ensure([new_delivery(created_at=after(-7)), new_delivery()])
        for state in (DeliveryState.SENT, DeliveryState.UNKNOWN):
            stored(store, state=state)
        (post,) = store.deliveries.ensure([new_delivery(provider="post")])
        written(store, post._replace(state=DeliveryState.FAILED))

        assert store.deliveries.standing() == [
            DeliveryStanding("mail", DeliveryState.INTENT, 2, after(-7)),
            DeliveryStanding("mail", DeliveryState.UNKNOWN, 1, NOW),
            DeliveryStanding("post", DeliveryState.FAILED, 1, NOW),
        ]

    def test_counts_tell_what_has_not_ended_well(self, store: Store) -> None:
        stored(store)
        stored(store, state=DeliveryState.SENT)
        for _ in range(2):
            stored(store, state=DeliveryState.UNKNOWN)
        store.deliveries.ensure([new_delivery(provider="post")])

        assert store.deliveries.counts() == {
            "mail": {DeliveryState.INTENT: 1, DeliveryState.UNKNOWN: 2},
            "post": {DeliveryState.INTENT: 1},
        }
