"""Messages that commit with what they tell of, and wake who publishes them."""

from holdfast.core.job.event import Done, Failed, Suspended
from holdfast.store.contract import Store
from holdfast.store.tables.outbox import OutboxFilter, Standing
from holdfast.testing.conformance.fleet.wakeups import SOON_S
from holdfast.testing.conformance.messages.outbox import added, ids, leased, message, rolled_back
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    after,
    claim,
    decided,
    started,
    submitted,
)


class MessageCommitConformance:
    """What messages promise about the transactions that they are part of."""

    def test_messages_are_published_if_and_only_if_their_transaction_commits(
        self, store: Store
    ) -> None:
        kept, lost = message(), message()
        with store.transaction() as connection:
            store.outbox.add([kept], now=NOW, connection=connection)
        with rolled_back(store) as connection:
            store.outbox.add([lost], now=NOW, connection=connection)

        assert ids(leased(store)) == [kept.id]

    def test_messages_of_a_decision_are_stored_with_it(self, store: Store) -> None:
        submitted(store, count=4)
        jobs = claim(store)
        messages = [message(job.id) for job in jobs]
        advanced = decided(jobs[0], Done('"drafted"', None, (messages[0],)))
        waiting = decided(jobs[1], Suspended(after(9), (messages[1],)))
        complete = decided(jobs[2]._replace(stage="send"), Done('"sent"', None, (messages[2],)))
        stale = decided(jobs[3], Done('"late"', None, (messages[3],)))
        moved_on = stale._replace(expected=stale.expected + 1)

        assert len(store.apply([advanced, waiting, complete, moved_on])) == 3

        found = store.outbox.find(OutboxFilter(), before=None, limit=10)
        assert {one.id for one in found} == {one.id for one in messages[:3]}
        assert {one.created_at for one in found} == {NOW}

    def test_a_stale_decision_alone_publishes_nothing(self, store: Store) -> None:
        job = started(store)
        decision = decided(job, Done('"late"', None, (message(),)))

        assert store.apply([decision._replace(expected=decision.expected + 1)]) == set()
        assert store.outbox.standing() == Standing(0, None, 0)

    def test_a_decision_that_is_applied_once_more_publishes_nothing_more(
        self, store: Store
    ) -> None:
        job = started(store, stage="send")
        decision = decided(job, Done('"sent"', None, (message(), message())))

        assert store.apply([decision]) == {job.id}
        assert store.apply([decision]) == set()
        assert store.outbox.standing().pending == 2

    def test_a_failed_attempt_publishes_nothing(self, store: Store) -> None:
        job = started(store)

        assert decided(job, Failed(LASTING_FAILURE)).messages == ()

    def test_a_new_message_wakes_the_listeners_of_other_stores(
        self, store: Store, other_store: Store
    ) -> None:
        listener = other_store.listen("outbox")
        listener.wait(0)

        added(store, "a")

        assert listener.wait(SOON_S) is True
        listener.close()

    def test_a_message_of_a_decision_wakes_listeners(
        self, store: Store, other_store: Store
    ) -> None:
        job = started(store)
        listener = other_store.listen("outbox")
        listener.wait(0)

        store.apply([decided(job, Done('"drafted"', None, (message(),)))])

        assert listener.wait(SOON_S) is True
        listener.close()
