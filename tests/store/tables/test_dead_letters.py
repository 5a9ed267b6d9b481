"""A job and its dead letter change together or not at all; one locked letter delays no other."""

from collections.abc import Callable

import psycopg
import pytest

from holdfast.core.job.event import Failed, RetryRequested
from holdfast.core.job.job import JobState
from holdfast.store.contract import Store
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    after,
    after_event,
    claim,
    decided,
    read,
    started,
    submitted,
)
from tests.store.conftest import by_hand


@pytest.fixture
def own_store(database_url: str, open_store: Callable[[str], Store]) -> Store:
    """A store whose schema a test may damage."""
    store = open_store(database_url)
    store.migrate()
    return store


def test_a_job_whose_letter_cannot_be_written_does_not_end(
    own_store: Store, database_url: str
) -> None:
    job = started(own_store)
    by_hand(database_url, "drop table {dead_letter}")

    with pytest.raises(Exception, match=r"dead_letter|no holdfast schema"):
        own_store.apply([decided(job, Failed(LASTING_FAILURE))])

    assert read(own_store, job.id) == job
    assert own_store.ledger(job.id) == []


def test_a_job_whose_return_cannot_be_recorded_stays_failed(
    own_store: Store, database_url: str
) -> None:
    job = after_event(own_store, started(own_store), Failed(LASTING_FAILURE))
    letter = own_store.letters.get(job.id)
    by_hand(database_url, "drop table {audit}")

    with pytest.raises(Exception, match=r"audit|no holdfast schema"):
        own_store.apply([decided(job, RetryRequested("ada"), now=after(1))])

    assert read(own_store, job.id).state is JobState.FAILED
    assert own_store.letters.get(job.id) == letter


def test_a_locked_letter_does_not_hold_up_other_jobs(
    postgres_url: str, open_store: Callable[[str], Store]
) -> None:
    store = open_store(postgres_url)
    submitted(store, 3)
    dead = [after_event(store, job, Failed(LASTING_FAILURE)) for job in claim(store)]
    sent_back = [decided(job, RetryRequested("ada"), now=after(1)) for job in dead]
    with psycopg.connect(postgres_url) as somebody:
        somebody.execute(
            "select 1 from holdfast.dead_letter where id = %s for update", [dead[1].id]
        )

        assert store.apply(sent_back) == {dead[0].id, dead[2].id}

        assert read(store, dead[1].id).state is JobState.FAILED
    assert store.apply(sent_back) == {dead[1].id}
    found = store.letters.find(LetterFilter(), before=None, limit=10)
    assert {(letter.state.value, letter.revision) for letter in found} == {("replayed", 1)}
