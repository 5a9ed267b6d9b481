"""A whole worker, with its threads, on a real clock: it finishes or hands back all it took."""

import asyncio
import json
import threading
from collections import defaultdict
from contextlib import ExitStack, closing, contextmanager

import pytest

from holdfast import JobState, Pipeline, Retry, UsageError
from holdfast.core.job.decision import Kind
from holdfast.engine.submit.submission import Submit
from holdfast.errors import ConflictError, InvalidValue, UnknownWorker
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from holdfast.runtime.worker.reporter import BATCH
from holdfast.store.postgres.store import CONNECTIONS
from holdfast.testing import Script, failing
from holdfast.workers import WorkerOptions
from tests.runtime.attempts.samples import PATIENCE_S
from tests.runtime.crew import pipeline_of
from tests.runtime.lanes.process_handlers import pipeline as processes
from tests.store.conftest import script_by_hand

# Nothing here waits for a poll: what is due is announced, or looked up.
QUICK = {"poll": 60, "sweep": 0.05, "deadline_check": 0.05, "lease": 20, "grace": PATIENCE_S}


DROP_FIGURES = {
    "sqlite": "drop table holdfast_tally;",
    "postgresql": "drop table holdfast.tally;",
}


@pytest.fixture
def open_real(open_app):
    def open_one(*pipelines):
        return open_app(*pipelines, clock=None, chance=None)

    return open_one


@contextmanager
def working(app, **options):
    worker = app.worker(options=WorkerOptions(**{**QUICK, **options}))
    worker.start()
    try:
        yield worker
    finally:
        worker.request_stop()
        worker.request_stop()
        if worker._state == "running":
            worker.drain()


def wait_until(condition) -> None:
    until_s = monotonic_s() + PATIENCE_S
    while not condition():
        assert monotonic_s() < until_s
        sleep_s(0.005)


def test_jobs_of_every_lane_run_to_their_end(open_real):
    mixed = Pipeline("mixed")

    @mixed.stage
    async def fetch(job, n: int):
        await asyncio.sleep(0)
        return n

    @mixed.stage
    def double(job, fetch: int):
        return fetch * 2

    app = open_real(mixed, processes)
    jobs = [app.submit(mixed, {"n": n}) for n in range(20)]
    with working(app) as worker:
        results = [job.wait(PATIENCE_S).result for job in jobs]

        assert results == [n * 2 for n in range(20)]
        assert worker.drain() == 0
    assert app.verify() == []
    [row] = app.workers()
    assert (row.id, row.state) == (worker.id, "stopped")
    assert set(json.loads(row.stages)) >= {"mixed/fetch", "mixed/double"}


def test_a_job_in_a_process_runs_to_its_end(open_real):
    app = open_real(processes)
    payload = {"kind": "give up", "started": "unused", "n": 4, "words": "unused", "how": "fail"}
    job = app.submit(processes, payload)
    with working(app, processes=1) as worker:
        wait_until(lambda: job.get().job.stage != "report")
        worker.drain()

    assert app.results(job.id)["report"]["n"] == 4


def test_an_idle_worker_hears_of_new_jobs(open_real):
    app = open_real(pipeline_of(Script(then=1)))
    with working(app):
        sleep_s(0.2)
        began_s = monotonic_s()
        app.submit("p").wait(PATIENCE_S)

    assert monotonic_s() - began_s < 5


def test_a_retry_is_taken_when_it_is_due(open_real):
    quick = Retry(attempts=4, base=0.05, factor=1, jitter="none")
    app = open_real(pipeline_of(failing(3, then="ok"), retry=quick))
    with working(app):
        began_s = monotonic_s()
        view = app.submit("p").wait(PATIENCE_S)

    assert (view.result, view.job.attempt) == ("ok", 4)
    assert 0.15 <= monotonic_s() - began_s < 5


def test_what_runs_may_finish_and_what_follows_is_left_to_others(open_real):
    entered, gate = threading.Event(), threading.Event()

    def wait(job):
        entered.set()
        gate.wait(PATIENCE_S)
        return "done"

    app = open_real(pipeline_of(Script(wait), Script("next")))
    job = app.submit("p")
    with working(app) as worker:
        assert entered.wait(PATIENCE_S)
        ended = []
        drain = threading.Thread(target=lambda: ended.append(worker.drain()))
        drain.start()
        wait_until(lambda: worker._state == "draining")
        app.submit("p")
        gate.set()
        drain.join(PATIENCE_S)

    row = job.get().job
    assert ended == [0]
    assert (row.state, row.stage, row.attempt, row.interruptions) == ("queued", "two", 0, 0)
    assert [view.job.attempt for view in app.jobs()] == [0, 0]


def test_what_has_not_begun_is_handed_back_without_costing_an_attempt(open_real):
    entered, gate = threading.Event(), threading.Event()

    def wait(job):
        entered.set()
        gate.wait(PATIENCE_S)

    app = open_real(pipeline_of(Script(then=wait)))
    with working(app, concurrency=1) as worker:
        worker.claimer.freed(10_000, requeued=False)
        sleep_s(0.06)
        jobs = [app.submit("p") for _ in range(4)]
        assert entered.wait(PATIENCE_S)
        threading.Thread(target=worker.drain).start()
        wait_until(lambda: sum(job.get().state is JobState.QUEUED for job in jobs) == 3)
        gate.set()
        wait_until(lambda: worker._state == "stopped")

    states = sorted(job.get().state for job in jobs)
    assert states == ["complete", "queued", "queued", "queued"]
    assert sum(job.get().job.attempt for job in jobs) == 1


def test_after_the_grace_period_the_rest_is_handed_back(open_real):
    entered = threading.Event()
    pipeline = Pipeline("p")

    @pipeline.stage
    async def hang(job):
        entered.set()
        await asyncio.Event().wait()

    app = open_real(pipeline)
    job = app.submit("p")
    with working(app, grace=0.1) as worker:
        assert entered.wait(PATIENCE_S)
        began_s = monotonic_s()
        worker.drain()

    row = job.get().job
    assert 0.1 <= monotonic_s() - began_s < 5
    assert (row.state, row.attempt, row.interruptions) == ("queued", 0, 1)
    assert [item.entry.kind for item in app.store.ledger(job.id)] == [Kind.INTERRUPTED]


def test_a_second_request_to_stop_hands_everything_back_at_once(open_real):
    entered = threading.Event()
    pipeline = Pipeline("p")

    @pipeline.stage
    async def hang(job):
        entered.set()
        await asyncio.Event().wait()

    app = open_real(pipeline)
    job = app.submit("p")
    worker = app.worker(options=WorkerOptions(**{**QUICK, "grace": 3600}))
    ended = []
    runner = threading.Thread(target=lambda: ended.append(worker.run(handle_signals=False)))
    runner.start()
    assert entered.wait(PATIENCE_S)
    worker.request_stop()
    wait_until(lambda: worker._state == "draining")
    assert job.get().state is JobState.PROCESSING
    worker.request_stop()
    runner.join(PATIENCE_S)

    assert len(ended) == 1
    assert job.get().state is JobState.QUEUED
    assert job.get().job.attempt == 0


def test_a_handler_that_cannot_be_ended_is_handed_back_and_said(open_real):
    entered, gate = threading.Event(), threading.Event()

    def wait(job):
        entered.set()
        gate.wait(PATIENCE_S)

    app = open_real(pipeline_of(Script(wait)))
    job = app.submit("p")
    with working(app, grace=0) as worker:
        assert entered.wait(PATIENCE_S)
        status = worker.drain()
    gate.set()

    assert status == 1
    assert job.get().state is JobState.QUEUED


def test_a_worker_that_cannot_go_on_ends_with_a_status(open_real, caplog):
    app = open_real(pipeline_of(Script(then=1)))
    worker = app.worker(options=WorkerOptions(**QUICK))
    ended = []
    runner = threading.Thread(target=lambda: ended.append(worker.run(handle_signals=False)))
    runner.start()
    wait_until(lambda: app.submit("p").wait(PATIENCE_S).state is JobState.COMPLETE)
    worker.abort("the test says so")
    runner.join(PATIENCE_S)

    assert ended == [1]
    assert "the worker ends: the test says so" in caplog.text


def test_leases_are_renewed_while_all_connections_of_the_application_are_in_use(open_real):
    begun, over = threading.Event(), threading.Event()

    def stay(job):
        begun.set()
        over.wait(PATIENCE_S)

    app = open_real(pipeline_of(Script(then=stay)))
    job = app.submit("p")
    leases = set()
    with closing(app.store.reserve("watching")) as watching:

        def is_renewed_twice() -> bool:
            row = watching.get([job.id])[job.id]
            assert (row.state, row.token) == (JobState.PROCESSING, 1)
            leases.add(row.lease_until)
            return len(leases) > 2

        with working(app, lease=6), ExitStack() as used_up:
            assert begun.wait(PATIENCE_S)
            used_up.callback(over.set)
            if app.store.writes_at_once:
                for _ in range(CONNECTIONS):
                    used_up.enter_context(app.store.transaction())

            wait_until(is_renewed_twice)


def test_a_cancelled_job_is_stopped_within_a_third_of_its_lease(open_real):
    entered, stopped = threading.Event(), threading.Event()
    pipeline = Pipeline("p")

    @pipeline.stage
    async def hang(job):
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    app = open_real(pipeline)
    job = app.submit("p")
    with working(app, lease=1.5):
        assert entered.wait(PATIENCE_S)
        app.cancel(job.id, by="ada")
        assert stopped.wait(PATIENCE_S)

    assert job.get().state is JobState.CANCELLED
    assert [item.entry.kind for item in app.store.ledger(job.id)] == [Kind.CANCELLED]


def test_a_thread_that_outlives_the_deadline_leaves_a_late_result(open_real):
    gate = threading.Event()

    def slow(job):
        gate.wait(PATIENCE_S)
        return "late"

    app = open_real(pipeline_of(Script(slow)))
    with working(app):
        job = app.submit("p", deadline=0.3)
        view = job.wait(PATIENCE_S)
        assert view.error["error_class"] == "TIMEOUT"
        gate.set()
        wait_until(lambda: job.get().late_result == "late")

    assert job.get().state is JobState.FAILED
    assert [item.entry.kind for item in app.store.ledger(job.id)] == [Kind.EXPIRED, Kind.LATE]
    assert app.verify() == []


def test_the_job_has_a_logger_that_names_it(open_real, caplog):
    caplog.set_level("INFO")
    app = open_real(pipeline_of(Script(lambda job: job.log.info("hello"))))
    with working(app):
        job = app.submit("p")
        job.wait(PATIENCE_S)

    [line] = [record for record in caplog.records if record.name == "holdfast.job"]
    assert (line.message, line.job_id, line.stage, line.attempt) == ("hello", job.id, "one", 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("concurrency", 0),
        ("concurrency", 10_001),
        ("concurrency", 2.5),
        ("concurrency", True),
        ("concurrency", "4"),
        ("processes", 0),
        ("lease", 0),
        ("lease", float("nan")),
        ("lease", None),
        ("poll", -1),
        ("sweep", float("inf")),
        ("grace", -0.1),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(field, value):
    with pytest.raises(InvalidValue, match=field):
        WorkerOptions(**{field: value})


def test_a_worker_needs_pipelines(open_real):
    with pytest.raises(UsageError, match="pipelines"):
        open_real().worker()


def test_a_worker_serves_the_queues_it_is_told_to(open_real):
    app = open_real(pipeline_of(Script(then=1), queue="slow"))
    elsewhere, here = app.submit("p", queue="other"), app.submit("p")
    worker = app.worker(queues=["slow"], options=WorkerOptions(**QUICK))
    worker.start()
    here.wait(PATIENCE_S)
    worker.drain()

    assert elsewhere.get().state is JobState.QUEUED
    assert app.workers()[0].queues == '["slow"]'


def test_a_worker_drained_from_outside_finishes_what_it_runs_takes_no_more_and_ends(open_real):
    begun, go_on = threading.Event(), threading.Event()
    slow = Pipeline("slow")

    @slow.stage
    def wait(job) -> str:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return "done"

    app = open_real(slow)
    running = app.submit("slow")
    worker = app.worker(options=WorkerOptions(**{**QUICK, "lease": 1, "concurrency": 1}))
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(worker.run(handle_signals=False)))
    thread.start()
    assert begun.wait(PATIENCE_S)
    waiting = app.submit("slow")

    told = app.drain_worker(worker.id, by="ada", reason="new machine")
    again = app.drain_worker(worker.id, by="bob")
    wait_until(lambda: worker.stop_requested)
    go_on.set()
    thread.join(PATIENCE_S)

    assert ended == [0]
    assert (told.drain_asked_by, again.drain_asked_by) == ("ada", "ada")
    assert running.get().state is JobState.COMPLETE
    assert waiting.get().state is JobState.QUEUED
    [row] = app.workers()
    assert row.state == "stopped"
    [entry] = app.audit(subject_kind="worker")
    assert (entry.subject, entry.done_by, entry.reason) == (worker.id, "ada", "new machine")
    app.store.record_worker(row._replace(id="w9"))
    with pytest.raises(ConflictError, match="has stopped"):
        app.drain_worker("w9", by="ada")


def test_a_worker_that_is_not_on_record_cannot_be_drained(open_real):
    with pytest.raises(UnknownWorker, match="check the id"):
        open_real().drain_worker("nobody", by="ada")


def test_a_worker_adds_its_figures_when_it_ends(open_real):
    app = open_real(pipeline_of(Script(then=1)))
    job = app.submit("p")
    with working(app):
        job.wait(PATIENCE_S)

    other = open_real()
    events = {row.event for row in other.activity(since=3600)}
    assert "completed" in events


def test_jobs_run_to_their_end_though_figures_cannot_be_stored(open_real, database_url):
    app = open_real(pipeline_of(Script(then=1)))
    app.store.migrate()
    script_by_hand(database_url, DROP_FIGURES[database_url.partition(":")[0]])
    job = app.submit("p")
    with working(app) as worker:
        job.wait(PATIENCE_S)
        status = worker.drain()

    assert job.get().state is JobState.COMPLETE
    assert status == 0


def test_many_jobs_at_once_run_every_stage_once_and_are_told_of_in_order(open_real):
    """Enough of them to need the reporter's relief, where the store has two write at once."""
    ran: list[tuple[int, str]] = []
    told: dict[str, list[Kind]] = defaultdict(list)
    stages = Pipeline("stages")

    for name in ("one", "two", "three"):

        @stages.stage(name=name)
        async def run(job, n: int):
            ran.append((n, job.stage))

    app = open_real(stages)
    app.subscribe(lambda applied: told[applied.job.id].append(applied.decision.entry.kind))
    count = 3 * BATCH
    app.submit_many(stages, [Submit({"n": number}) for number in range(count)])
    with working(app):
        wait_until(lambda: sum(map(len, list(told.values()))) == 3 * count)

    assert len(ran) == len(set(ran)) == 3 * count
    assert set(map(tuple, told.values())) == {(Kind.ADVANCED, Kind.ADVANCED, Kind.COMPLETED)}
    assert app.verify() == []
