"""A second reporter takes whole batches off one that is busy, and nothing else."""

import pytest

from holdfast.core.job.decision import Kind
from holdfast.core.values.instant import FAR_FUTURE
from holdfast.engine.submit.submission import Submit
from holdfast.errors import StoreUnavailable
from holdfast.runtime.worker.overflow import OverflowReporter
from holdfast.runtime.worker.reporter import BATCH
from holdfast.testing import Script
from tests.runtime.crew import LEASE_US


@pytest.fixture
def relieved(make_crew):
    """A worker turned by hand, its relief, and a way to have so many attempts end."""
    app, crew = make_crew(Script(then=1), limit=2 * BATCH)
    relief = OverflowReporter(
        crew.store,
        clock=crew.clock,
        chance=crew.chance,
        announcer=app.announcer,
        in_flight=crew.in_flight,
        lease_us=LEASE_US,
        breakers=crew.breakers,
    )
    relief.claimer = crew.claimer
    crew.reporter.overflow_to(relief)

    def end(count: int) -> None:
        app.submit_many("p", [Submit() for _ in range(count)])
        while crew.lane.load() < count:
            crew.claim()
        crew.lane.run()

    return crew, relief, end


def test_a_whole_batch_is_taken_and_the_rest_left(relieved, announced):
    crew, relief, end = relieved
    end(BATCH + 3)

    relief.tick(crew.clock.now())
    left = crew.reporter.pending()
    slept = relief.tick(crew.clock.now())
    crew.report()

    assert (left, slept) == (3, FAR_FUTURE)
    assert announced == [Kind.COMPLETED] * (BATCH + 3)
    assert len(crew.in_flight) == crew.reporter.pending() == 0


def test_less_than_a_batch_is_left_alone(relieved, announced):
    crew, relief, end = relieved
    end(BATCH - 1)

    assert relief.tick(crew.clock.now()) == FAR_FUTURE
    assert announced == []
    assert not relief.wake.is_set()


def test_it_is_called_once_a_whole_batch_waits(relieved):
    crew, relief, end = relieved
    end(BATCH)

    assert crew.reporter.wake.is_set()
    assert relief.wake.is_set()


def test_nothing_more_is_taken_once_the_worker_stops(relieved, announced):
    crew, relief, end = relieved
    end(BATCH)
    relief.draining = True

    assert relief.tick(crew.clock.now()) == FAR_FUTURE
    assert announced == []


def test_what_is_in_doubt_is_kept_and_written_once(relieved, announced):
    crew, relief, end = relieved
    end(BATCH)
    crew.store.lose_reply("apply")
    with pytest.raises(StoreUnavailable):
        relief.tick(crew.clock.now())
    pending = crew.reporter.pending()
    relief.draining = True
    relief.tick(crew.clock.now())

    assert pending == BATCH
    assert announced == [Kind.COMPLETED] * BATCH
    assert crew.reporter.pending() == 0


def test_a_stage_is_told_of_before_the_next_begins(make_crew):
    """Its end would else be told of first, by the other of the two."""
    app, crew = make_crew(Script(1), Script(2))
    begun: list[int] = []
    app.subscribe(lambda _: begun.append(len(crew.lane.waiting)))
    app.submit("p")
    crew.work()

    assert begun == [0]
    assert len(crew.lane.waiting) == 1
