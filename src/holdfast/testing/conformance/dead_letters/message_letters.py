"""Dead letters of messages: one per message, open again when it dies again."""

from typing import Any

from holdfast.core.dead_letter.dead_letter import MESSAGE, DeadLetter, LetterState
from holdfast.core.values.failure import Category, Severity
from holdfast.core.values.outbox import Confirmed, NewMessage, OutboxStatus
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.testing.conformance.messages.outbox import ids, leased, marked
from holdfast.testing.conformance.samples import NOW, after, next_id


def letter(**changes: Any) -> DeadLetter:
    """Return the letter of a message, as a consumer makes it."""
    made = DeadLetter(
        id=next_id(),
        kind=MESSAGE,
        pipeline="grading.request",
        stage="grading",
        queue="grading",
        owner="",
        error_class="INVALID",
        previous_class=None,
        category=Category.PERMANENT,
        severity=Severity.ERROR,
        retryable=False,
        outcome_known=True,
        http_status=None,
        attempts=3,
        deaths=1,
        first_failure_at=NOW,
        last_failure_at=NOW,
        holder=None,
        message="no such course",
        exception_type="",
        stack="",
        fingerprint="f" * 16,
        payload='{"n":1}',
        state=LetterState.OPEN,
        revision=0,
        updated_at=NOW,
        cause=None,
        evidence=None,
        note=None,
        replayed_at=None,
        resolved_at=None,
    )
    return made._replace(**changes)


def replayed(store: Store, dead: DeadLetter, message: NewMessage) -> DeadLetter | None:
    """Send a message back at `after(5)`."""
    moved = dead._replace(state=LetterState.REPLAYED, replayed_at=after(5), updated_at=after(5))
    audit = AuditEntry(after(5), "ada", "replayed", "dead_letter", dead.id)
    return store.letters.publish_again(moved, message, audit=audit)


class DeadMessageConformance:
    """What the dead letters of messages promise."""

    def test_the_letter_of_a_message_is_kept_once_per_death(self, store: Store) -> None:
        dead = letter()

        assert store.letters.bury(dead) is True
        assert store.letters.bury(dead._replace(message="again")) is False
        assert store.letters.get(dead.id) == dead

    def test_a_message_that_was_sent_back_and_died_again_is_open_again(self, store: Store) -> None:
        dead = letter()
        store.letters.bury(dead)
        sent = replayed(store, dead, NewMessage(dead.id, "a", "grading.request", '{"n":1}'))
        assert sent is not None

        second = letter(id=dead.id, message="still none", last_failure_at=after(9))
        assert store.letters.bury(second) is True

        found = store.letters.get(dead.id)
        assert found is not None
        assert (found.state, found.deaths, found.previous_class) == (LetterState.OPEN, 2, "INVALID")
        assert (found.message, found.replayed_at) == ("still none", None)
        assert found.revision == sent.revision + 1

    def test_a_message_is_sent_back_with_the_record_of_it_or_not_at_all(self, store: Store) -> None:
        dead = letter()
        store.letters.bury(dead)
        message = NewMessage(dead.id, "a", "grading.request", '{"n":1}')

        assert replayed(store, dead, message) is not None
        assert replayed(store, dead, message) is None

        assert ids(leased(store, now=after(6))) == [dead.id]
        assert len(store.audit.latest(subject=dead.id, subject_kind="dead_letter")) == 1

    def test_a_message_that_was_published_here_is_published_once_more(self, store: Store) -> None:
        dead = letter()
        message = NewMessage(dead.id, "a", "grading.request", '{"n":1}')
        store.outbox.add([message], now=NOW)
        marked(store, leased(store), Confirmed(), now=after(1))
        store.letters.bury(dead)

        replayed(store, dead, message)

        (again,) = leased(store, now=after(6))
        assert (again.id, again.status) == (dead.id, OutboxStatus.PENDING)

    def test_one_that_a_relay_has_yet_to_mark_is_published_once_more(self, store: Store) -> None:
        dead = letter()
        message = NewMessage(dead.id, "a", "grading.request", '{"n":1}')
        store.outbox.add([message], now=NOW)
        sent = leased(store)
        store.letters.bury(dead)

        replayed(store, dead, message)

        assert marked(store, sent, Confirmed(), now=after(6)) == set()
        assert ids(leased(store, now=after(6))) == [dead.id]
        assert store.verify(now=after(6)) == []

    def test_the_letters_of_messages_break_no_invariant(self, store: Store) -> None:
        waiting, sent = letter(), letter()
        for dead in (waiting, sent):
            store.letters.bury(dead)
        replayed(store, sent, NewMessage(sent.id, "a", "grading.request", "1"))

        assert store.verify(now=after(9)) == []
