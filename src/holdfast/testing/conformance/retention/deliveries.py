"""Which deliveries go when they have been kept long enough, and which never do."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.job.event import CancelRequested
from holdfast.core.values.ids import id_before
from holdfast.core.values.instant import Instant
from holdfast.core.values.retention import Retention
from holdfast.store.contract import Store
from holdfast.store.tables.retention import Section
from holdfast.testing.conformance.deliveries import logged, new_delivery, written
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.retention.samples import batches, id_made_now, purged
from holdfast.testing.conformance.samples import NOW, after, after_event, started

_KEEP_S = 100.0
_KEEP = Retention(complete=1, cancelled=1, deliveries=_KEEP_S)
_LONG_AFTER = after(10**9)

SENT: dict[str, Any] = {
    "state": DeliveryState.SENT,
    "notification_id": "<m-1@mail>",
    "notified_at": NOW,
}
FAILED: dict[str, Any] = {
    "state": DeliveryState.FAILED,
    "error_class": "INVALID",
    "error": '{"error_class":"INVALID","message":"no such box"}',
}


def ended(store: Store, *, how: dict[str, Any], **changes: Any) -> Delivery:
    """A delivery that ended at `NOW`."""
    (delivery,) = store.deliveries.ensure([new_delivery(id=id_made_now(), **changes)])
    return written(store, delivery._replace(**how))


class DeliveryPurgeConformance:
    """What `retention.purge` promises about deliveries."""

    @pytest.mark.parametrize("how", [SENT, FAILED], ids=["sent", "failed"])
    def test_a_delivery_goes_at_the_instant_its_time_is_over_and_not_before(
        self, store: Store, how: dict[str, Any]
    ) -> None:
        delivery = ended(store, how=how)

        assert purged(store, now=Instant(after(_KEEP_S) - 1), keep=_KEEP) == {}
        assert store.deliveries.get(delivery.id) == delivery
        counted = purged(store, now=after(_KEEP_S), keep=_KEEP, dry_run=True)
        assert purged(store, now=after(_KEEP_S), keep=_KEEP) == counted == {"deliveries": 1}
        assert store.deliveries.get(delivery.id) is None
        assert store.verify(now=after(_KEEP_S)) == []

    @pytest.mark.parametrize(
        "how",
        [
            {},
            {"state": DeliveryState.SENDING, "began_at": NOW},
            {"state": DeliveryState.UNKNOWN, "began_at": NOW},
        ],
        ids=["intent", "sending", "unknown"],
    )
    def test_a_delivery_that_somebody_has_to_do_something_about_never_goes(
        self, store: Store, how: dict[str, Any]
    ) -> None:
        delivery = ended(store, how=how)

        assert purged(store, now=_LONG_AFTER, keep=_KEEP) == {}
        assert store.deliveries.get(delivery.id) == delivery

    def test_the_log_of_a_delivery_goes_with_it(self, store: Store) -> None:
        old, kept = ended(store, how=SENT), ended(store, how={})
        for delivery in (old, kept):
            store.deliveries.apply([delivery], log=[logged(delivery)])

        assert purged(store, now=after(_KEEP_S), keep=_KEEP) == {"deliveries": 1}
        found = store.deliveries.attempts([old.id, kept.id])
        assert [len(found[each.id]) for each in (old, kept)] == [0, 1]

    def test_what_is_kept_for_ever_never_goes(self, store: Store) -> None:
        ended(store, how=SENT)

        assert purged(store, now=_LONG_AFTER, keep=Retention(deliveries=None)) == {}

    def test_a_delivery_outlives_its_job_which_may_ask_for_it_again(self, store: Store) -> None:
        job = started(store, id=id_made_now())
        delivery = ended(store, how=SENT, job_id=job.id, stage=job.stage)

        assert purged(store, now=_LONG_AFTER, keep=_KEEP) == {}
        after_event(store, job, CancelRequested("ada"))
        assert purged(store, now=after(_KEEP_S - 1), keep=_KEEP) == {"jobs": 1}
        assert store.deliveries.get(delivery.id) == delivery
        assert purged(store, now=after(_KEEP_S), keep=_KEEP) == {"deliveries": 1}

    def test_a_batch_looks_at_so_many_deliveries_and_those_that_stay_hide_none(
        self, store: Store
    ) -> None:
        kept = [ended(store, how={}) for _ in range(4)]
        for _ in range(3):
            ended(store, how=SENT)

        made = [
            batch
            for batch in batches(store, now=after(_KEEP_S), keep=_KEEP, limit=3)
            if batch.section is Section.DELIVERIES
        ]

        assert [batch.seen for batch in made] == [3, 3, 1]
        assert sum(batch.removed["deliveries"] for batch in made) == 3
        assert all(store.deliveries.get(delivery.id) for delivery in kept)

    def test_deliveries_made_later_are_not_even_looked_at(self, store: Store) -> None:
        ended(store, how=SENT)
        young = [new_delivery(id=id_before(after(3600 + number))) for number in range(5)]
        store.deliveries.ensure(young)

        made = batches(store, now=after(_KEEP_S + 2), keep=_KEEP, limit=100)

        assert [batch.seen for batch in made if batch.section is Section.DELIVERIES] == [1]

    def test_one_that_is_asked_for_while_it_goes_is_there_or_made_anew(
        self, store: Store, other_store: Store
    ) -> None:
        for _ in range(20):
            old = ended(store, how=FAILED)
            wanted = old._replace(id=id_made_now(), state=DeliveryState.INTENT, revision=0)
            got: list[Delivery] = []
            both: list[Callable[[], object]] = [
                partial(purged, store, now=after(_KEEP_S), keep=_KEEP),
                partial(_ensure, other_store, wanted, got),
            ]
            at_once(both)

            assert got[0].id in {old.id, wanted.id}

    def test_one_that_was_taken_up_meanwhile_stays(self, store: Store, other_store: Store) -> None:
        for _ in range(20):
            old = ended(store, how=FAILED)
            taken: list[Delivery] = []
            both: list[Callable[[], object]] = [
                partial(purged, store, now=after(_KEEP_S), keep=_KEEP),
                partial(_revive, other_store, old, taken),
            ]
            at_once(both)

            assert (store.deliveries.get(old.id) is not None) == bool(taken)


def _ensure(store: Store, wanted: Delivery, got: list[Delivery]) -> None:
    got += store.deliveries.ensure([wanted])


def _revive(store: Store, old: Delivery, taken: list[Delivery]) -> None:
    revived = old._replace(state=DeliveryState.INTENT, error=None, error_class=None)
    taken += store.deliveries.apply([revived]).values()
