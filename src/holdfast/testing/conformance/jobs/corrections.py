"""Another payload for a failed job: with its record, or not at all."""

from holdfast.core.job.event import Failed, RetryRequested
from holdfast.core.job.job import Job
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    after,
    after_event,
    read,
    started,
)


def corrected(store: Store, job: Job, *, letter_revision: int | None = None) -> bool:
    """Try to give a job another payload, as decided from the rows that are given."""
    letter = store.letters.get(job.id)
    assert letter is not None
    if letter_revision is not None:
        letter = letter._replace(revision=letter_revision)
    audit = AuditEntry(after(5), "ada", "corrected", SUBJECT, job.id, "a typing error")
    found = store.letters.correct(letter, '{"n":2}', job_revision=job.revision, audit=audit)
    assert found is None or found == store.letters.get(job.id)
    return found is not None


class CorrectConformance:
    """What a person corrects is there for the next attempt, and nobody else's write is lost."""

    def test_a_failed_job_gets_another_payload_and_stays_as_it_is(self, store: Store) -> None:
        job = after_event(store, started(store), Failed(LASTING_FAILURE))

        assert corrected(store, job)

        assert read(store, job.id) == job._replace(payload='{"n":2}')
        (entry,) = store.audit.latest(subject_kind=SUBJECT, subject=job.id, limit=10)
        assert (entry.action, entry.done_by, entry.at) == ("corrected", "ada", after(5))

    def test_a_job_that_was_sent_back_meanwhile_keeps_its_payload(self, store: Store) -> None:
        job = after_event(store, started(store), Failed(LASTING_FAILURE))
        back = after_event(store, job, RetryRequested("bob"), now=after(4))

        assert not corrected(store, job)
        assert not corrected(store, back)

        assert read(store, job.id) == back

    def test_where_the_letter_has_moved_nothing_is_written(self, store: Store) -> None:
        job = after_event(store, started(store), Failed(LASTING_FAILURE))

        assert not corrected(store, job, letter_revision=99)

        assert read(store, job.id) == job
        assert store.audit.latest(subject_kind=SUBJECT, subject=job.id, limit=10) == []
