"""The outbox: messages that are leased in order, published, and marked once."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import (
    RELAY_RETRY,
    Confirmed,
    NewMessage,
    NotTaken,
    OutboxMessage,
    OutboxStatus,
    Publication,
    Trouble,
    Unsendable,
    Untried,
    decide_publish,
)
from holdfast.core.values.retention import Retention
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.outbox import WINDOW, OutboxFilter, Standing
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.retention.samples import purged
from holdfast.testing.conformance.samples import LEASE_US, NOW, after, entries, next_id

RELAY = "relay-1"
REFUSED = NotTaken(Trouble.REFUSED, "no")
_THREADS = 4


def message(aggregate_id: str = "a", **changes: Any) -> NewMessage:
    """A message with an id of its own."""
    made = NewMessage(next_id(), aggregate_id, "grading.request", '{"n":1}')
    return made._replace(**changes)


def added(store: Store, *aggregates: str, now: Instant = NOW) -> list[str]:
    """Return the ids of messages of these aggregates, stored in this order."""
    messages = [message(aggregate_id) for aggregate_id in aggregates]
    store.outbox.add(messages, now=now)
    return [made.id for made in messages]


def leased(
    store: Store, *, limit: int = 10, now: Instant = NOW, holder: str = RELAY
) -> list[OutboxMessage]:
    """A claim of what is usual in these tests."""
    return store.outbox.claim(holder=holder, limit=limit, lease_us=LEASE_US, now=now)


def marked(
    store: Store, messages: list[OutboxMessage], outcome: Publication, *, now: Instant = NOW
) -> set[str]:
    """Write what `outcome` makes of leased messages."""
    if not messages:
        return set()
    decided = [decide_publish(one, outcome, RELAY_RETRY, now, 0.999) for one in messages]
    holder, lease_until = messages[0].holder, messages[0].lease_until
    assert holder is not None
    assert lease_until is not None
    return store.outbox.mark(decided, holder=holder, lease_until=lease_until)


class _Undone(Exception):
    pass


@contextmanager
def rolled_back(store: Store) -> Iterator[Any]:
    """The connection of a transaction that is not going to be committed."""
    with suppress(_Undone), store.transaction() as connection:
        yield connection
        raise _Undone


def ids(messages: list[OutboxMessage]) -> list[str]:
    """Their ids, in the same order."""
    return [one.id for one in messages]


class OutboxConformance:
    """What messages promise."""

    def test_a_message_is_read_as_it_was_added(self, store: Store) -> None:
        odd = message("it's {odd} % \\ …", payload='{"a":"\\u00e9\U0001f6a7"}', trace="00-ab-cd-01")
        store.outbox.add([odd], now=NOW)

        found = store.outbox.get(odd.id)
        assert found is not None
        assert (found.id, found.aggregate_id, found.message_type, found.payload, found.trace) == odd
        assert found.status is OutboxStatus.PENDING
        assert (found.created_at, found.run_at, found.retry_count) == (NOW, NOW, 0)
        assert (found.processed_at, found.error_message, found.holder) == (None, None, None)
        assert store.outbox.get(next_id()) is None

    def test_a_message_that_is_stored_already_stays_as_it_is(self, store: Store) -> None:
        first = message()
        store.outbox.add([first], now=NOW)
        marked(store, leased(store), Confirmed())

        store.outbox.add([first._replace(payload='"other"'), message("b")], now=after(1))

        assert [one.payload for one in leased(store, now=after(2))] == ['{"n":1}']
        found = store.outbox.get(first.id)
        assert found is not None
        assert (found.status, found.payload) == (OutboxStatus.PUBLISHED, '{"n":1}')

    def test_messages_are_leased_in_the_order_in_which_they_were_added(self, store: Store) -> None:
        given = added(store, "c", "a", "b", "a", "c")

        assert ids(leased(store)) == given

    def test_a_leased_message_is_nobody_elses_until_its_lease_ends(
        self, store: Store, other_store: Store
    ) -> None:
        added(store, "a")
        (first,) = leased(store)
        assert (first.holder, first.lease_until) == (RELAY, after(LEASE_US / 1e6))

        assert leased(other_store, holder="relay-2", now=after(59)) == []
        (second,) = leased(other_store, holder="relay-2", now=after(60))
        assert second.id == first.id
        assert second.retry_count == 0

    def test_who_lost_the_lease_marks_nothing(self, store: Store, other_store: Store) -> None:
        added(store, "a")
        first = leased(store)
        second = leased(other_store, holder="relay-2", now=after(61))

        assert marked(store, first, Unsendable("too late")) == set()
        assert marked(other_store, second, Confirmed(), now=after(62)) == {second[0].id}
        assert marked(other_store, second, REFUSED, now=after(63)) == set()
        found = store.outbox.get(first[0].id)
        assert found is not None
        assert (found.status, found.processed_at) == (OutboxStatus.PUBLISHED, after(62))

    def test_the_same_relay_marks_nothing_under_an_older_lease(self, store: Store) -> None:
        added(store, "a")
        old = leased(store)
        new = leased(store, now=after(61))

        assert marked(store, old, Confirmed(), now=after(62)) == set()
        assert marked(store, new, Confirmed(), now=after(62)) == {new[0].id}

    def test_what_was_decided_is_what_is_stored(self, store: Store) -> None:
        added(store, "a", "b", "c", "d")
        outcomes: list[Publication] = [Confirmed(), REFUSED, Unsendable("too large"), Untried()]
        messages = leased(store)
        after_it = [
            decide_publish(one, outcome, RELAY_RETRY, after(1), 0.5)
            for one, outcome in zip(messages, outcomes, strict=True)
        ]

        written = store.outbox.mark(
            after_it, holder=RELAY, lease_until=messages[0].lease_until or NOW
        )

        assert written == set(ids(messages))
        assert [store.outbox.get(one.id) for one in messages] == after_it

    def test_a_message_that_was_not_taken_is_due_again_later(self, store: Store) -> None:
        added(store, "a")
        marked(store, leased(store), REFUSED)

        assert leased(store, now=after(0.4)) == []
        assert store.outbox.next_due() == store.outbox.next_due(after=NOW) == after(0.4996)
        assert store.outbox.next_due(after=after(1)) is None
        (again,) = leased(store, now=after(0.5))
        assert (again.retry_count, again.error_message) == (1, "refused: no")

    def test_nothing_overtakes_a_message_of_its_aggregate_that_waits(self, store: Store) -> None:
        given = added(store, "a", "a", "b", "a", "b")
        first, *rest = leased(store)
        marked(store, [first], REFUSED)
        marked(store, [one for one in rest if one.aggregate_id == "a"], Untried())

        marked(store, [one for one in rest if one.aggregate_id == "b"], Confirmed())
        assert leased(store, now=after(0.1)) == []
        assert ids(leased(store, now=after(1))) == [given[0], given[1], given[3]]

    def test_nothing_overtakes_a_message_that_another_relay_has(
        self, store: Store, other_store: Store
    ) -> None:
        given = added(store, "a", "a", "b", "a")
        assert ids(leased(store, limit=1)) == given[:1]

        assert ids(leased(other_store, holder="relay-2")) == [given[2]]
        assert ids(leased(other_store, holder="relay-2", now=after(61))) == given

    def test_nothing_overtakes_a_message_between_two_that_are_due(self, store: Store) -> None:
        given = added(store, "a", "a", "a")
        first, second, third = leased(store)
        marked(store, [first], Unsendable("too large"))
        marked(store, [second], REFUSED)
        marked(store, [third], Untried())
        store.outbox.retry(given[0], now=NOW)

        assert ids(leased(store)) == given[:1]

    def test_a_message_that_was_given_up_holds_nobody_up(self, store: Store) -> None:
        given = added(store, "a", "a")
        marked(store, leased(store, limit=1), Unsendable("too large"))

        assert ids(leased(store)) == given[1:]

    def test_every_aggregate_gets_its_turn_before_one_gets_many(self, store: Store) -> None:
        given = added(store, "a", "a", "a", "b", "c")

        assert ids(leased(store, limit=3)) == [given[0], given[3], given[4]]

    def test_what_one_message_holds_up_hides_no_others(self, store: Store) -> None:
        added(store, "a")
        added(store, *["a"] * (WINDOW + 10))
        last = added(store, "b")
        (first, *rest) = leased(store, limit=2)
        marked(store, [first], REFUSED)
        marked(store, rest, Untried())

        assert ids(leased(store, now=after(0.1))) == last

    def test_a_relay_lets_go_of_everything_it_has(self, store: Store) -> None:
        given = added(store, "a", "b")
        leased(store, limit=1)
        leased(store, limit=1, holder="relay-2")

        assert store.outbox.release(RELAY, now=after(1)) == 1
        assert ids(leased(store, now=after(1))) == given[:1]

    def test_it_tells_how_it_stands(self, store: Store) -> None:
        assert store.outbox.standing() == Standing(0, None, 0)
        assert store.outbox.next_due() is None
        added(store, "a", "b")
        assert store.outbox.next_due() == NOW
        added(store, "c", now=after(5))
        messages = leased(store, now=after(6))

        marked(store, messages[:1], Confirmed(), now=after(6))
        assert store.outbox.standing() == Standing(2, NOW, 0)
        marked(store, messages[1:2], Unsendable("no"), now=after(6))
        assert store.outbox.standing() == Standing(1, after(5), 1)

    def test_messages_are_found_newest_first_page_by_page(self, store: Store) -> None:
        given = added(store, "a", "b", "a")
        marked(store, leased(store, limit=1), Confirmed())
        find = store.outbox.find

        everything = find(OutboxFilter(), before=None, limit=10)
        assert ids(everything) == given[::-1]
        assert ids(find(OutboxFilter(), before=everything[0].position, limit=1)) == [given[1]]
        pending = OutboxFilter(status=OutboxStatus.PENDING)
        assert ids(find(pending, before=None, limit=10)) == [given[2], given[1]]
        assert ids(find(OutboxFilter(aggregate_id="b"), before=None, limit=10)) == [given[1]]
        assert find(OutboxFilter(message_type="other"), before=None, limit=10) == []

    def test_a_person_has_a_message_tried_again(self, store: Store) -> None:
        added(store, "a")
        (given_up,) = leased(store)
        marked(store, [given_up], Unsendable("too large"))
        entry = AuditEntry(after(9), "ada", "retried", "message", given_up.id, "limit raised")

        assert store.outbox.retry(given_up.id, now=after(9), audit=[entry]) is True
        (again,) = leased(store, now=after(9))
        assert (again.retry_count, again.error_message) == (0, "too large")
        assert again.processed_at is None
        assert entries(store, subject_kind="message") == [entry]

        assert store.outbox.retry(given_up.id, now=after(10), audit=[entry]) is False
        marked(store, [again], Confirmed(), now=after(10))
        assert store.outbox.retry(given_up.id, now=after(99), audit=[entry]) is False
        assert store.outbox.retry(next_id(), now=after(99)) is False
        assert entries(store, subject_kind="message") == [entry]

    def test_only_what_was_published_long_ago_is_purged(self, store: Store) -> None:
        added(store, *"abcdef")
        messages = leased(store)
        marked(store, messages[:3], Confirmed(), now=after(1))
        marked(store, messages[3:4], Confirmed(), now=after(50))
        marked(store, messages[4:5], Unsendable("too large"), now=after(1))
        store.inbox.take("billing", "m-1", now=after(1))
        store.inbox.take("billing", "m-2", now=after(50))
        keep = Retention(messages=60, inbox=60)

        counted = purged(store, now=after(61), keep=keep, limit=2, dry_run=True)
        assert counted == {"messages": 3, "inbox": 1}
        assert purged(store, now=after(61), keep=keep, limit=2) == counted
        left = store.outbox.find(OutboxFilter(), before=None, limit=10)
        assert ids(left) == ids(messages[3:])[::-1]
        assert store.inbox.has("billing", "m-2") is True
        forever = Retention(messages=None, inbox=None)
        assert purged(store, now=after(10**9), keep=forever) == {}

    def test_many_relays_publish_each_message_once_and_each_aggregate_in_order(
        self, store: Store, other_store: Store
    ) -> None:
        aggregates = [str(number % 7) for number in range(150)]
        given = added(store, *aggregates)
        published: list[OutboxMessage] = []
        lock = threading.Lock()

        def relay(number: int) -> Callable[[], None]:
            rows = (store, other_store)[number % 2].outbox
            chance = random.Random(number)

            def run() -> None:
                holder = f"relay-{number}"
                while rows.standing().pending:
                    batch = rows.claim(holder=holder, limit=5, lease_us=LEASE_US, now=NOW)
                    broken: set[str] = set()
                    outcomes: list[OutboxMessage] = []
                    for one in batch:
                        outcome: Publication = Confirmed()
                        if one.aggregate_id in broken or chance.random() < 0.2:
                            broken.add(one.aggregate_id)
                            outcome = Untried()
                        else:
                            with lock:
                                published.append(one)
                        outcomes.append(decide_publish(one, outcome, RELAY_RETRY, NOW, 0.0))
                    if batch:
                        rows.mark(outcomes, holder=holder, lease_until=batch[0].lease_until or NOW)

            return run

        at_once([relay(number) for number in range(_THREADS)])

        assert sorted(ids(published)) == sorted(given)
        for aggregate in set(aggregates):
            positions = [one.position for one in published if one.aggregate_id == aggregate]
            assert positions == sorted(positions)
