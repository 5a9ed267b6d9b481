"""A queue that may hold so many jobs refuses more, cheaply, and takes them again later."""

import threading
from collections.abc import Iterator

import pytest

from holdfast import Holdfast, Pipeline, Submit
from holdfast.engine.submit.admission import MAX_QUEUES, MOST, Admission
from holdfast.errors import InvalidValue, KeyConflict, QueueFull, UnavailableError
from holdfast.runtime.kernel.clock import sleep_s
from holdfast.testing import ManualClock, run_inline
from tests.crash.fleet import eventually

LIMIT = 5

work = Pipeline("work")


@work.stage
def do(job) -> str:
    return "done"


class Counting:
    """A real store that tells how often jobs were counted."""

    def __init__(self, store):
        self._store = store
        self.counts = 0

    def queued(self, queue, *, limit):
        self.counts += 1
        return self._store.queued(queue, limit=limit)


@pytest.fixture
def app(database_url: str) -> Iterator[Holdfast]:
    with Holdfast(database_url, pipelines=[work], max_queued=LIMIT, clock=ManualClock()) as made:
        yield made


def fill(app: Holdfast, **options) -> list[str]:
    return [app.submit(work, key=f"k-{n}", **options).id for n in range(LIMIT)]


def test_a_full_queue_refuses_what_is_new_and_stores_nothing(app):
    fill(app)

    with pytest.raises(QueueFull) as caught:
        app.submit(work)
    assert (caught.value.queue, caught.value.limit) == ("default", LIMIT)
    assert isinstance(caught.value, UnavailableError)
    assert str(caught.value).startswith("5 jobs or more wait in queue 'default'")
    assert len(app.jobs()) == LIMIT


def test_a_key_that_is_known_leads_to_its_job_though_the_queue_is_full(app):
    jobs = fill(app)

    again = app.submit(work, key="k-3")
    assert (again.id, again.created) == (jobs[3], False)
    with pytest.raises(KeyConflict):
        app.submit(work, {"n": 1}, key="k-3")
    with pytest.raises(QueueFull):
        app.submit(work, key="k-3", version=2, rerun=True)
    with pytest.raises(QueueFull):
        app.submit(work, key="another")


def test_of_many_those_that_fit_are_stored_and_the_others_told(app):
    made = app.submit_many(work, [Submit(key=f"k-{n}") for n in range(LIMIT + 3)])

    assert [item.created for item in made] == [True] * LIMIT + [False] * 3
    assert {type(item.error) for item in made[LIMIT:]} == {QueueFull}
    assert len(app.jobs()) == LIMIT
    again = app.submit_many(work, [Submit(key="k-1"), Submit(key="new")])
    assert [item.job_id is not None for item in again] == [True, False]


def test_each_queue_has_its_own_limit(app):
    fill(app)

    assert app.submit(work, queue="other").created


def test_what_is_scheduled_waits_too(app):
    fill(app, delay=3600)

    with pytest.raises(QueueFull):
        app.submit(work)


def test_a_queue_takes_jobs_again_soon_after_it_has_room(app):
    fill(app)
    with pytest.raises(QueueFull):
        app.submit(work)
    run_inline(app)

    def taken() -> bool:
        try:
            return app.submit(work).created
        except QueueFull:
            return False

    eventually(taken, what="the queue is counted again", within_s=5)


def test_a_queue_that_others_filled_is_full_from_the_start(app, database_url):
    fill(app)

    with (
        Holdfast(database_url, pipelines=[work], max_queued=LIMIT) as other,
        pytest.raises(QueueFull),
    ):
        other.submit(work)


def test_without_a_limit_nothing_is_refused_or_counted(database_url):
    with Holdfast(database_url, pipelines=[work]) as app:
        fill(app)
        assert app.submit(work).created
        app.limit_queues(LIMIT)
        with pytest.raises(QueueFull):
            app.submit(work)
        app.limit_queues(None)
        assert app.submit(work).created


def test_in_the_callers_transaction_a_full_queue_refuses_as_well(app):
    fill(app)

    with app.store.transaction() as connection, pytest.raises(QueueFull):
        app.submit(work, connection=connection)
    assert len(app.jobs()) == LIMIT


@pytest.mark.parametrize("limit", [0, -1, MOST + 1, 1.5, True, "5"])
def test_a_limit_that_makes_no_sense_is_refused(limit):
    with pytest.raises(InvalidValue, match="it must be a whole number from 1 to"):
        Holdfast("sqlite://:memory:", max_queued=limit)


def test_a_flood_is_refused_without_asking_the_database_each_time(app):
    store = Counting(app.store)
    admission = Admission(store, max_queued=LIMIT)
    fill(app)

    assert not any(admission.admits("default") for _ in range(10_000))
    assert store.counts <= 3


def test_many_threads_together_stay_below_the_limit(app):
    store = Counting(app.store)
    # Slow, so that all ask while the first one counts; then as many wait as were let in.
    answers = iter([0])
    store.queued = lambda queue, *, limit: sleep_s(0.1) or next(answers, 100)
    admission = Admission(store, max_queued=100)
    admitted: list[bool] = []

    def flood() -> None:
        admitted.extend([admission.admits("default") for _ in range(50)])

    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(admitted) == 100


def test_queues_without_end_do_not_fill_the_memory(app):
    store = Counting(app.store)
    store.queued = lambda queue, *, limit: 0
    admission = Admission(store, max_queued=LIMIT)
    for number in range(2 * MAX_QUEUES + 5):
        assert admission.admits(f"queue-{number}")

    assert len(admission._queues) <= MAX_QUEUES


def test_a_handler_that_meets_a_full_queue_is_tried_again(database_url):
    parent = Pipeline("parent")

    @parent.stage
    def spawn(job) -> str:
        return app.submit(work, queue="busy").id

    with Holdfast(database_url, pipelines=[work, parent], max_queued=1, clock=ManualClock()) as app:
        app.submit(work, queue="busy", delay=10**6)
        job = app.submit(parent)
        [first, *_] = run_inline(app)

        assert (first.job_id, first.event, first.error_class) == (job.id, "retried", "NETWORK")
        assert job.get().state == "queued"
