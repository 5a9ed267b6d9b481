"""What a process did is counted beside the jobs, and added to the store now and then."""

import threading

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.maintenance.activity import FLUSH_EVERY_US, ROOM, ActivityWriter, Counter
from holdfast.testing import Script, run_inline
from tests.runtime.crew import pipeline_of


class Away:
    """A store that cannot be reached."""

    @property
    def activity(self):
        raise StoreUnavailable("the store", reason="away")


@pytest.fixture
def app(open_app):
    return open_app(pipeline_of(Script(then=1)))


@pytest.fixture
def applied(app) -> list[Applied]:
    """Decisions that were applied to jobs of the app, and that nobody has counted yet."""
    seen: list[Applied] = []
    app.subscribe(seen.append)
    for _ in range(3):
        app.submit("p")
    run_inline(app)
    app._own_activity.counter._counts.clear()
    return seen


def counted(store) -> dict[tuple[str, str], int]:
    return {(row.stage, row.kind): row.times for row in store.activity.since(0, limit=1000)}


def test_decisions_are_added_to_the_store_with_each_tick(app, applied):
    counter = Counter()
    service = ActivityWriter(app.store, counter)
    for item in applied:
        counter(item)

    until = service.tick(app.clock.now())
    first = counted(app.store)
    service.tick(until)

    assert until - app.clock.now() == FLUSH_EVERY_US
    assert sum(first.values()) == len(applied)
    assert counted(app.store) == first


def test_what_cannot_be_added_is_kept_for_the_next_time(app, applied):
    counter = Counter()
    counter(applied[0])
    with pytest.raises(StoreUnavailable):
        counter.flush(Away())
    counter(applied[0])
    counter.flush(app.store)

    assert set(counted(app.store).values()) == {2}


def test_the_last_activity_is_not_worth_failing_for(applied, caplog):
    counter = Counter()
    counter(applied[0])
    counter.flush_last(Away())

    assert "activity of this process is lost" in caplog.text


def test_a_store_that_is_away_for_long_costs_no_more_than_some_memory(applied):
    counter = Counter()
    for number in range(ROOM + 50):
        job = applied[0].job._replace(pipeline=f"p{number}")
        counter(applied[0]._replace(job=job))

    assert len(counter._counts) == ROOM


def test_many_threads_count_at_once_and_nothing_is_lost(app, applied):
    counter = Counter()

    def count() -> None:
        for _ in range(500):
            counter(applied[0])

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counter.flush(app.store)
    for thread in threads:
        thread.join()
    counter.flush(app.store)

    assert set(counted(app.store).values()) == {2000}
