"""The outbox, leased by relays that publish some types of messages each."""

from holdfast.core.values.outbox import Confirmed, NotTaken, OutboxMessage, Trouble, Unsendable
from holdfast.store.contract import Store
from holdfast.store.tables.outbox import WINDOW, Standing, TypeFilter
from holdfast.testing.conformance.messages.outbox import added, ids, marked, message
from holdfast.testing.conformance.samples import LEASE_US, NOW, after

NOTES = TypeFilter(only=("note", "memo"))
WITHOUT_NOTES = TypeFilter(without=("note", "memo"))
_AWAY = NotTaken(Trouble.UNAVAILABLE, "nobody answers")


def stored(store: Store, *types: str, aggregate_id: str | None = None) -> list[str]:
    """The ids of messages of these types, each about something of its own unless it is named."""
    messages = [
        message(aggregate_id or f"{number}-{kind}", message_type=kind)
        for number, kind in enumerate(types)
    ]
    store.outbox.add(messages, now=NOW)
    return [made.id for made in messages]


def leased_of(store: Store, types: TypeFilter, *, holder: str = "relay-1") -> list[OutboxMessage]:
    """A claim of messages of these types."""
    return store.outbox.claim(holder=holder, limit=10, lease_us=LEASE_US, now=NOW, types=types)


class TypedOutboxConformance:
    """What messages promise to relays that publish some of their types."""

    def test_a_relay_of_some_types_leases_those_alone(self, store: Store) -> None:
        given = stored(store, "note", "grade", "memo", "notes", "Note")

        assert ids(leased_of(store, NOTES)) == [given[0], given[2]]
        assert leased_of(store, NOTES) == []

    def test_a_relay_leaves_types_to_another(self, store: Store) -> None:
        given = stored(store, "note", "grade", "memo", "notes")

        assert ids(leased_of(store, WITHOUT_NOTES)) == [given[1], given[3]]
        assert ids(leased_of(store, NOTES, holder="relay-2")) == [given[0], given[2]]

    def test_messages_of_other_types_hold_no_message_of_their_aggregate_up(
        self, store: Store
    ) -> None:
        given = stored(store, "grade", "note", "grade", "memo", aggregate_id="a")
        held_up = leased_of(store, WITHOUT_NOTES)
        marked(store, held_up, _AWAY)

        taken = leased_of(store, NOTES, holder="relay-2")

        assert ids(held_up) == [given[0], given[2]]
        assert ids(taken) == [given[1], given[3]]

    def test_messages_of_its_own_types_keep_their_order(self, store: Store) -> None:
        stored(store, "note", "grade", "memo", aggregate_id="a")
        first, second = leased_of(store, NOTES)
        marked(store, [first], _AWAY)
        marked(store, [second], _AWAY)

        assert leased_of(store, NOTES) == []
        assert first.position < second.position

    def test_thousands_of_messages_of_other_types_hide_none(self, store: Store) -> None:
        stored(store, *["grade"] * (WINDOW + 10), aggregate_id="a")
        stored(store, *["grade"] * (WINDOW + 10))
        (last,) = stored(store, "note", aggregate_id="a")

        assert ids(leased_of(store, NOTES)) == [last]

    def test_it_tells_how_the_messages_of_some_types_stand(self, store: Store) -> None:
        added(store, "a", now=after(-5))
        stored(store, "note", "note", "memo")
        messages = leased_of(store, NOTES)
        marked(store, messages[:1], Unsendable("too large"))
        marked(store, messages[1:2], Confirmed())

        assert store.outbox.standing(types=NOTES) == Standing(1, NOW, 1)
        assert store.outbox.standing(types=WITHOUT_NOTES) == Standing(1, after(-5), 0)
        assert store.outbox.next_due(types=WITHOUT_NOTES) == after(-5)
        assert store.outbox.next_due(types=NOTES) == messages[2].lease_until
        assert store.outbox.next_due(types=TypeFilter(only=("none",))) is None
