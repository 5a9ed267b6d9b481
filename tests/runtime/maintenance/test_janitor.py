"""What is old goes by itself, without hurry, and nothing that is wrong with it stops a worker."""

import logging
import threading

import pytest

from holdfast import Holdfast, JobFilter, Submit
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retention import DAY_S, Retention
from holdfast.errors import StoreUnavailable
from holdfast.runtime.kernel.clock import Chance, monotonic_s, sleep_s
from holdfast.runtime.maintenance.janitor import EVERY_US, FEWEST, PAUSE_S, SLOW_S, Janitor, Walk
from holdfast.store.tables.retention import BATCH, Batch, Place, Section
from holdfast.testing import Script
from tests.runtime.crew import FaultyStore, pipeline_of


@pytest.fixture
def app(open_app):
    return open_app(pipeline_of(Script(then=1)))


def janitor_of(app, store=None, **keep):
    return Janitor(store or app.store, retention=Retention(**keep), chance=Chance(1))


def walk(app, of):
    """Tick until a walk is over; return how long the janitor wants to rest, and its turns."""
    turns = 0
    while True:
        turns += 1
        rest_us = of.tick(app.clock.now()) - app.clock.now()
        if rest_us > 10 * SECOND_US:
            return rest_us, turns


def ended(app, count):
    app.submit_many("p", [Submit()] * count)
    while app.cancel_many(JobFilter(), by="ada").changed:
        pass


def test_what_has_been_kept_long_enough_goes(app, clock):
    ended(app, 3)
    cleaner = janitor_of(app)
    clock.advance(7 * DAY_S - 1)
    walk(app, cleaner)
    assert len(app.jobs()) == 3

    clock.advance(1)
    walk(app, cleaner)
    assert app.jobs() == []
    assert app.verify() == []


def test_it_looks_again_every_minute_spread_a_little(app):
    cleaner = janitor_of(app)

    rests = {walk(app, cleaner)[0] for _ in range(20)}

    assert all(0.75 * EVERY_US <= rest <= 1.25 * EVERY_US for rest in rests)
    assert len(rests) > 10


def test_it_goes_on_while_there_is_more_but_leaves_the_database_to_others(app, clock):
    ended(app, 2 * BATCH + 1)
    clock.advance(8 * DAY_S)
    cleaner = janitor_of(app)
    began = clock.now()
    pauses = []
    while (pause := cleaner.tick(began) - began) < 10 * SECOND_US:
        pauses.append(pause)

    assert app.jobs() == []
    assert len(pauses) >= 2 + len(Section) - 1
    assert min(pauses) >= PAUSE_S * SECOND_US


def test_a_walk_past_many_jobs_that_stay_is_not_begun_again_at_once(app, clock):
    cleaner = janitor_of(app, cancelled=None, complete=0)
    ended(app, 2 * BATCH)
    clock.advance(2)
    store = FaultyStore(app.store)
    store.retention = _Fruitless(batches=2_000)
    resting = janitor_of(app, store)

    assert walk(app, cleaner)[0] <= 1.25 * EVERY_US
    rest_us, turns = walk(app, resting)
    assert turns == 2_000
    assert rest_us >= 0.75 * 9 * 2_000 * PAUSE_S * SECOND_US


class _Fruitless:
    """Rows without end that all stay, as their owner wished."""

    def __init__(self, batches):
        self.batches = batches

    def purge(self, cutoffs, place, *, limit, dry_run):
        self.batches -= 1
        return Batch(Section.JOBS, limit, {"jobs": 0}, Place() if self.batches else None)


def test_an_outage_ends_the_turn_and_the_walk_goes_on_where_it_was(app, clock):
    ended(app, BATCH + 1)
    clock.advance(8 * DAY_S)
    store = FaultyStore(app.store)
    real, broken = app.store.retention, FaultyStore(app.store.retention)
    store.retention = broken
    cleaner = janitor_of(app, store)
    cleaner.tick(clock.now())
    cleaner.tick(clock.now())
    broken.refuse("purge")
    with pytest.raises(StoreUnavailable):
        cleaner.tick(clock.now())
    broken.restore()
    walk(app, cleaner)

    assert app.jobs() == []
    assert store.retention is broken
    assert real is app.store.retention


def test_batches_shrink_while_they_are_slow_and_grow_again(app):
    store = FaultyStore(app.store)
    store.retention = rows = _LargeRows()
    slow = Walk(store, Retention().cutoffs(app.clock.now()))
    for _ in range(8):
        slow.step()
    rows.seconds = 0
    for _ in range(8):
        slow.step()

    assert rows.limits[0] == BATCH
    assert rows.limits[7] == rows.limits[8] == min(rows.limits) == FEWEST
    assert rows.limits[-1] == BATCH


class _LargeRows:
    """A database that takes its time for every batch."""

    def __init__(self):
        self.limits = []
        self.seconds = 1.1 * SLOW_S

    def purge(self, cutoffs, place, *, limit, dry_run):
        self.limits.append(limit)
        sleep_s(self.seconds)
        return Batch(Section.JOBS, limit, {"jobs": limit}, Place())


def test_what_went_is_logged_once_a_walk_and_nothing_is_when_nothing_went(app, clock, caplog):
    caplog.set_level(logging.INFO, "holdfast.worker")
    ended(app, 3)
    cleaner = janitor_of(app)
    walk(app, cleaner)
    assert "removed" not in caplog.text

    clock.advance(8 * DAY_S)
    walk(app, cleaner)
    [line] = [record for record in caplog.records if getattr(record, "event", "") == "purged"]
    assert line.jobs == 3


def test_a_worker_removes_what_is_old_by_itself(open_app, clock):
    app = open_app(pipeline_of(Script(then=1)), retention=Retention(cancelled=60))
    ended(app, 3)
    clock.advance(61)
    worker = app.worker()
    worker.start()
    try:
        _until(lambda: app.jobs() == [])
    finally:
        worker.request_stop()
        assert worker.drain() == 0


def test_by_hand_everything_old_goes_at_once_and_batches_are_told(app, clock):
    ended(app, BATCH + 5)
    clock.advance(8 * DAY_S)
    told = []
    assert app.purge(dry_run=True) == {"jobs": BATCH + 5}
    assert len(app.jobs(limit=1_000)) == BATCH + 5

    assert app.purge(told=told.append) == {"jobs": BATCH + 5}
    assert app.jobs() == []
    assert sum(batch.removed.get("jobs", 0) for batch in told) == BATCH + 5


def _until(holds):
    until_s = monotonic_s() + 20
    while not holds():
        assert monotonic_s() < until_s
        sleep_s(0.02)


def test_after_every_walk_it_does_the_chores_and_one_that_fails_stops_no_other(app, caplog):
    done = []

    def fails():
        done.append("fails")
        raise OSError("the disk is gone")

    cleaner = Janitor(
        app.store,
        retention=Retention(),
        chance=Chance(1),
        chores=[fails, lambda: done.append("works")],
    )
    walk(app, cleaner)
    walk(app, cleaner)

    assert done == ["fails", "works"] * 2
    assert "a chore failed" in caplog.text


def test_a_worker_does_the_chores_of_its_application(database_url):
    did = threading.Event()
    pipeline = pipeline_of(Script(then=1))
    with Holdfast(database_url, pipelines=[pipeline], chores=[did.set]) as app:
        worker = app.worker()
        worker.start()
        try:
            assert did.wait(30)
        finally:
            worker.request_stop()
            worker.drain()
