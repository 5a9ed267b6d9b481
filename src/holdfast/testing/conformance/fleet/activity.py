"""What a store promises about activity by the minute."""

import threading

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.contract import Store
from holdfast.store.tables.activity import CHUNK, MINUTE_US, ActivityCount
from holdfast.testing.conformance.retention.samples import KEEP_S, purged
from holdfast.testing.conformance.samples import NOW, after

_KEEP_US = int(KEEP_S * SECOND_US)
_MINUTE = Instant(NOW - NOW % MINUTE_US)
_LATER = Instant(_MINUTE + MINUTE_US)
_DONE = ActivityCount(_MINUTE, "letters", "draft", "completed", "", 3, duration_us=70)
_FAILED = ActivityCount(_MINUTE, "letters", "draft", "failed", "NETWORK", 1, duration_us=9)


def _since(store: Store, minute: Instant = _MINUTE) -> list[ActivityCount]:
    return store.activity.since(minute, limit=1000)


class ActivityConformance:
    """What `activity` promises."""

    def test_counters_add_up_by_their_key(self, store: Store, other_store: Store) -> None:
        store.activity.add([_DONE, _FAILED])
        other_store.activity.add([_FAILED, _DONE._replace(times=2, duration_us=30)])

        assert _since(store) == [
            _DONE._replace(times=5, duration_us=100),
            _FAILED._replace(times=2, duration_us=18),
        ]

    def test_every_part_of_the_key_tells_counters_apart(self, store: Store) -> None:
        given = {
            _DONE,
            _DONE._replace(minute=_LATER),
            _DONE._replace(pipeline="it's % \\ odd"),
            _DONE._replace(stage="send"),
            _DONE._replace(kind="retried"),
            _DONE._replace(error_class="NETWORK"),
        }
        store.activity.add(given)

        found = _since(store)
        assert set(found) == given
        assert found[0].minute == _LATER

    def test_counters_are_read_from_a_minute_on_and_up_to_a_limit(self, store: Store) -> None:
        store.activity.add([_DONE, _FAILED, _DONE._replace(minute=_LATER)])

        assert _since(store, _LATER) == [_DONE._replace(minute=_LATER)]
        assert store.activity.since(_MINUTE, limit=2) == [_DONE._replace(minute=_LATER), _DONE]

    def test_nothing_may_be_added_and_so_may_very_much(self, store: Store) -> None:
        store.activity.add([])
        many = [_DONE._replace(stage=f"s{number:05}") for number in range(2 * CHUNK + 1)]
        store.activity.add(many)

        assert store.activity.since(_MINUTE, limit=5000) == many

    def test_many_add_to_the_same_counters_at_once(self, store: Store, other_store: Store) -> None:
        names = [f"s{number}" for number in range(20)]

        def add(to: Store, order: list[str]) -> None:
            for _ in range(10):
                to.activity.add([_DONE._replace(stage=name) for name in order])

        threads = [
            threading.Thread(target=add, args=given)
            for given in ((store, names), (other_store, names[::-1]))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert {counted.times for counted in _since(store)} == {60}

    def test_figures_go_in_their_time(self, store: Store) -> None:
        store.activity.add([_DONE, _FAILED, _DONE._replace(minute=after(50))])

        assert "figures" not in purged(store, now=Instant(_MINUTE + _KEEP_US - 1))
        assert purged(store, now=after(KEEP_S), limit=1)["figures"] == 2
        assert _since(store) == [_DONE._replace(minute=after(50))]
