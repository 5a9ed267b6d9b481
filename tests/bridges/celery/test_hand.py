"""The worker in a process of a fleet: made when it is needed, replaced when it cannot go on."""

import time
from collections.abc import Iterator

import pytest

from holdfast import Holdfast, JobState, Pipeline
from holdfast.bridges.celery.hand import Hand
from holdfast.bridges.celery.message import PoisonMessage
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.errors import StoreUnavailable
from holdfast.runtime.dispatcher.dispatcher import DueMessage
from holdfast.runtime.dispatcher.embedded_worker import EmbeddedWorker
from holdfast.workers import WorkerOptions

ROUTE = Route("default", "p", "only")
STRANGER = JobId("01a1e20e-f7bd-766a-afe3-548dc18f1ad7")
AWAY = StoreUnavailable("test://", reason="it is away")


class Bench:
    """A hand and the workers that it has hired."""

    def __init__(self, url: str) -> None:
        pipeline = Pipeline("p")
        pipeline.stage(name="only")(self._stage)
        self.app = Holdfast(url, pipelines=[pipeline])
        self.hired: list[EmbeddedWorker] = []
        self.refusals: list[Exception] = []
        self.away = False
        self.closing = False
        self.hand = Hand(self._hire, exist=self._exist, hold_s=20.0, closing=lambda: self.closing)

    def _stage(self, job) -> str:
        if job.payload == "close":
            self.closing = True
        return "done"

    def _hire(self) -> EmbeddedWorker:
        if self.refusals:
            raise self.refusals.pop()
        self.hired.append(self.app.embedded_worker(WorkerOptions(concurrency=1, lease=1.0)))
        return self.hired[-1]

    def _exist(self, job_ids) -> bool:
        if self.away:
            raise AWAY
        return bool(self.app.store.get(job_ids))

    def run(self, *job_ids: str, route: Route = ROUTE) -> None:
        self.hand.run(DueMessage(route, tuple(map(JobId, job_ids))))

    def submit(self, payload: object = None) -> str:
        return self.app.submit("p", payload).id

    def state(self, job_id: str) -> JobState:
        return self.app.job(job_id).state


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    made = Bench(database_url)
    yield made
    made.hand.stop()
    made.app.close()


def test_one_worker_serves_all_messages_of_a_process(bench: Bench):
    first, second = bench.submit(), bench.submit()
    assert bench.hired == []

    bench.run(first)
    bench.run(second)

    assert [bench.state(first), bench.state(second)] == [JobState.COMPLETE] * 2
    assert len(bench.hired) == 1


def test_a_worker_that_could_not_go_on_is_replaced_and_leaves_nothing_leased(bench: Bench):
    first, second = bench.submit(), bench.submit()
    bench.run(first)
    bench.hired[0].abort("the test says so")

    bench.run(second)

    assert bench.state(second) is JobState.COMPLETE
    assert len(bench.hired) == 2
    assert [row.state for row in bench.app.workers() if row.id == bench.hired[0].id] == ["stopped"]


def test_a_worker_that_an_operator_drains_ends_and_the_next_message_gets_another(bench: Bench):
    first, second = bench.submit(), bench.submit()
    bench.run(first)
    bench.app.drain_worker(bench.hired[0].id, by="ada", reason="it leaks")
    until_s = time.monotonic() + 30
    while not bench.hired[0].ended:
        assert time.monotonic() < until_s
        time.sleep(0.02)

    bench.run(second)

    assert bench.state(second) is JobState.COMPLETE
    assert [row.state for row in bench.app.workers() if row.id == bench.hired[0].id] == ["stopped"]


def test_a_message_waits_for_a_store_that_is_away(bench: Bench):
    job = bench.submit()
    bench.refusals = [AWAY, AWAY]

    bench.run(job)

    assert bench.state(job) is JobState.COMPLETE


def test_a_message_that_names_no_job_of_the_store_is_poison(bench: Bench):
    with pytest.raises(PoisonMessage, match="no job"):
        bench.run(STRANGER)
    with pytest.raises(PoisonMessage, match="no job"):
        bench.run(STRANGER, route=Route("default", "strange", "stage"))


def test_a_message_is_no_poison_because_the_store_cannot_be_asked(bench: Bench):
    bench.away = True

    bench.run(STRANGER)

    assert len(bench.hired) == 1


def test_a_message_about_a_job_that_is_done_or_of_another_stage_changes_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    done, queued = bench.submit(), bench.submit()
    bench.run(done)
    revision = bench.app.job(done).job.revision

    bench.run(done)
    bench.run(queued, route=Route("default", "strange", "stage"))

    assert bench.app.job(done).job.revision == revision
    assert bench.state(queued) is JobState.QUEUED
    assert "unknown_route" in [getattr(line, "event", "") for line in caplog.records]


def test_once_its_process_is_told_to_stop_it_finishes_what_runs_and_begins_nothing(bench: Bench):
    last, rest = bench.submit("close"), [bench.submit() for _ in range(3)]

    bench.run(last, *rest)
    bench.run(*rest)

    assert bench.state(last) is JobState.COMPLETE
    assert [bench.state(job) for job in rest] == [JobState.QUEUED] * 3
    assert [row.state for row in bench.app.workers()] == ["stopped"]
