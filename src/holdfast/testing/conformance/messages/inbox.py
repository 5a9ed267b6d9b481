"""The inbox: messages of others that are handled once."""

from collections.abc import Callable

from holdfast.store.contract import Store
from holdfast.testing.conformance.jobs.races import at_once
from holdfast.testing.conformance.messages.outbox import rolled_back
from holdfast.testing.conformance.samples import NOW, after

_TAKERS = 8


class InboxConformance:
    """What consumers are promised about messages that come again."""

    def test_a_message_is_taken_once_by_each_consumer(
        self, store: Store, other_store: Store
    ) -> None:
        assert store.inbox.take("billing", "m-1", now=NOW) is True
        assert other_store.inbox.take("billing", "m-1", now=after(1)) is False
        assert store.inbox.take("mailing", "m-1", now=NOW) is True
        assert store.inbox.has("billing", "m-1") is True
        assert store.inbox.has("billing", "m-2") is False

    def test_what_was_rolled_back_was_not_taken(self, store: Store) -> None:
        with rolled_back(store) as connection:
            assert store.inbox.take("billing", "m-1", now=NOW, connection=connection) is True

        with store.transaction() as connection:
            assert store.inbox.take("billing", "m-1", now=NOW, connection=connection) is True
        assert store.inbox.take("billing", "m-1", now=NOW) is False

    def test_several_messages_are_taken_together_unless_one_was_before(self, store: Store) -> None:
        ids = ["m-2", "m-1", "m-3"]
        with store.transaction() as connection:
            assert store.inbox.take_all("billing", ids, now=NOW, connection=connection) is True

        with rolled_back(store) as connection:
            again = ["m-3", "m-4"]
            assert store.inbox.take_all("billing", again, now=NOW, connection=connection) is False
        with store.transaction() as connection:
            assert store.inbox.take_all("mailing", ids, now=NOW, connection=connection) is True
        assert [store.inbox.has("billing", each) for each in ("m-1", "m-3", "m-4")] == [
            True,
            True,
            False,
        ]

    def test_one_of_many_takes_a_message(self, store: Store, other_store: Store) -> None:
        def taker(number: int) -> Callable[[], bool]:
            own = (store, other_store)[number % 2]
            return lambda: own.inbox.take("billing", "m-1", now=NOW)

        answers = at_once([taker(number) for number in range(_TAKERS)])

        assert answers.count(True) == 1
