"""What belongs to a decision is written in its commit, or not at all."""

from collections.abc import Callable, Iterator

import pytest

from holdfast.core.job.event import Done, Event, Failed
from holdfast.core.job.job import Job
from holdfast.core.values.outbox import new_message
from holdfast.store.contract import Store
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    SEND,
    after_event,
    claim,
    decided,
    next_id,
    read,
    submitted,
)
from tests.store.conftest import by_hand

REFUSALS = {
    "sqlite": (
        "create trigger refuse_rows before insert on {{{table}}} "
        "begin select raise(abort, 'refused'); end"
    ),
    "postgresql": "alter table {{{table}}} add constraint refuse_rows check (false) not valid",
}
ALLOWED = {
    "sqlite": "drop trigger refuse_rows",
    "postgresql": "alter table {{{table}}} drop constraint refuse_rows",
}


@pytest.fixture
def shared_store(shared_url: str, open_store: Callable[[str], Store]) -> Store:
    store = open_store(shared_url)
    store.migrate()
    return store


@pytest.fixture
def refuse(shared_url: str) -> Iterator[Callable[[str], None]]:
    """Have the database refuse new rows of a table."""
    dialect = shared_url.partition(":")[0]
    refused: list[str] = []

    def refuse(table: str) -> None:
        by_hand(shared_url, REFUSALS[dialect].format(table=table), unchecked=False)
        refused.append(table)

    yield refuse
    for table in refused:
        by_hand(shared_url, ALLOWED[dialect].format(table=table), unchecked=False)


def last_stage(store: Store) -> Job:
    """A job that is leased for its last stage."""
    submitted(store)
    (first,) = claim(store)
    after_event(store, first, Done('"drafted"'))
    (job,) = claim(store, routes=[SEND])
    return job


def published() -> Event:
    message = new_message(next_id(), message_type="sent", payload={}, aggregate_id="a", trace=None)
    return Done('"sent"', messages=(message,))


@pytest.mark.parametrize(
    ("table", "event"),
    [("outbox", published()), ("dead_letter", Failed(LASTING_FAILURE)), ("ledger", Done("1"))],
    ids=["message", "dead letter", "history"],
)
def test_a_decision_is_not_written_without_what_belongs_to_it(
    shared_store: Store, refuse: Callable[[str], None], table: str, event: Event
) -> None:
    job = last_stage(shared_store)
    refuse(table)

    with pytest.raises(Exception, match="refuse"):
        shared_store.apply([decided(job, event)])

    assert read(shared_store, job.id) == job
