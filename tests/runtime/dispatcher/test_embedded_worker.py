"""A worker that is told which jobs are due: what it runs, what it leaves alone, when it returns."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from holdfast import Breaker, Holdfast, JobState, Pipeline, Rate, Retry, Upstream
from holdfast.core.job.job import Job
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.runtime.breakers.breakers import OLD_US
from holdfast.runtime.dispatcher.embedded_worker import APART_US, EmbeddedWorker
from holdfast.workers import WorkerOptions
from tests.runtime.crew import FaultyStore

ONE = Route("default", "p", "one")
MAIL = Route("default", "mail", "send")
PATIENCE_S = 20.0
OPTIONS = WorkerOptions(concurrency=2, lease=2.0)


class Bench:
    """A hired worker and the jobs that it is told of."""

    def __init__(self, url: str) -> None:
        self.release = threading.Event()
        self.ran: list[int] = []
        self.app = Holdfast(url, pipelines=[self._two_stages(), self._mail()])
        self.worker: EmbeddedWorker = self.app.embedded_worker(OPTIONS)
        self.worker.start()

    def _two_stages(self) -> Pipeline:
        pipeline = Pipeline("p", retry=Retry(attempts=2, base=60.0))

        @pipeline.stage
        def one(job, n: int):
            self.ran.append(n)
            if n == 13:
                raise TimeoutError(n)
            if n == 99:
                self.release.wait(PATIENCE_S)
            return n

        @pipeline.stage
        def two(job, one: int):
            return one

        return pipeline

    def _mail(self) -> Pipeline:
        pipeline = Pipeline("mail")

        @pipeline.stage(calls=Upstream("post", breaker=Breaker()))
        def send(job):
            return "sent"

        return pipeline

    def submit(self, *numbers: int, **options) -> list[str]:
        return [self.app.submit("p", {"n": number}, **options).id for number in numbers]

    def run(self, job_ids, *, route: Route = ONE, within_s: float = PATIENCE_S) -> float:
        """Tell the worker of jobs, and return how long it took."""
        began_s = time.monotonic()
        self.worker.run_due(route, job_ids, within_s=within_s)
        return time.monotonic() - began_s

    def states(self, job_ids) -> list[JobState]:
        return [self.app.job(job_id).state for job_id in job_ids]

    def row(self, job_id) -> Job:
        return self.app.job(job_id).job

    def close(self) -> None:
        self.release.set()
        self.worker.request_stop()
        self.worker.drain()
        self.app.close()


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    made = Bench(database_url)
    yield made
    made.close()


def eventually(look: Callable[[], object]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def test_it_runs_the_jobs_it_is_told_of_to_their_end_and_no_others(bench: Bench):
    told = bench.submit(*range(10))
    other = bench.submit(10)

    bench.run(told)

    assert bench.states(told) == [JobState.COMPLETE] * 10
    assert bench.states(other) == [JobState.QUEUED]
    assert sorted(bench.ran) == list(range(10))


def test_a_job_that_is_told_of_twice_runs_once(bench: Bench):
    told = bench.submit(1)
    callers = [threading.Thread(target=bench.run, args=(told,)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    bench.run(told)

    assert bench.ran == [1]
    assert bench.row(told[0]).attempt == 1


def test_a_job_that_is_not_due_is_left_alone(bench: Bench):
    told = bench.submit(1, delay=60)

    assert bench.run(told) < PATIENCE_S / 2
    assert bench.states(told) == [JobState.QUEUED]


def test_a_job_that_is_about_to_be_due_by_its_clock_is_waited_for(bench: Bench):
    told = bench.submit(1, delay=APART_US / SECOND_US / 2)
    due_at = bench.row(told[0]).run_at

    bench.run(told)

    assert bench.states(told) == [JobState.COMPLETE]
    assert bench.row(told[0]).started_at >= due_at


def test_a_job_that_becomes_due_right_after_it_was_looked_for_is_run(bench: Bench):
    told = bench.submit(1, delay=APART_US / SECOND_US / 2)
    due_at = bench.row(told[0]).run_at
    claimer = bench.worker.claimer
    claimer._store = FaultyStore(claimer._store)
    due = claimer._store.due = FaultyStore(claimer._store.due)
    due.do_after("claim", lambda: eventually(lambda: bench.app.clock.now() > due_at))

    bench.run(told)

    assert bench.states(told) == [JobState.COMPLETE]


def test_a_failed_attempt_is_a_decision_and_the_next_is_the_stores_to_time(bench: Bench):
    told = bench.submit(13)

    bench.run(told)
    bench.run(told)

    view = bench.app.job(told[0])
    assert (view.state, view.label, view.job.attempt) == (JobState.QUEUED, "retrying", 1)
    assert bench.ran == [13]


def test_it_lets_go_of_a_long_job_that_then_goes_on_under_its_lease(bench: Bench):
    told = bench.submit(99)

    assert 0.3 <= bench.run(told, within_s=0.3) < PATIENCE_S / 2
    assert bench.states(told) == [JobState.PROCESSING]
    first = bench.row(told[0]).lease_until
    eventually(lambda: bench.row(told[0]).lease_until > first)
    bench.release.set()
    eventually(lambda: bench.states(told) == [JobState.COMPLETE])
    assert bench.row(told[0]).attempt == 1


def test_jobs_for_which_there_is_no_room_stay_due_and_cost_no_attempt(bench: Bench):
    told = bench.submit(99, 99, 1)
    last = bench.row(told[-1]).run_at
    eventually(lambda: bench.app.store.read_clock() > last + APART_US)

    bench.run(told, within_s=0.5)

    assert bench.states(told) == [JobState.PROCESSING, JobState.PROCESSING, JobState.QUEUED]
    assert bench.row(told[2]).attempt == 0


def test_jobs_whose_upstream_is_held_open_are_not_leased(bench: Bench):
    told = [bench.app.submit("mail").id]
    bench.app.upstreams.force_open("post", by="ada", reason="it is down")
    eventually(lambda: bench.worker.breakers.allowances(bench.app.clock.now(), places=2))

    assert bench.run(told, route=MAIL) < PATIENCE_S / 2
    assert bench.row(told[0]).attempt == 0
    bench.app.upstreams.force_closed("post", by="ada", reason="it is back")
    eventually(lambda: not bench.worker.breakers.allowances(bench.app.clock.now(), places=2))
    bench.run(told, route=MAIL)
    assert bench.states(told) == [JobState.COMPLETE]


def test_nothing_is_leased_by_what_was_read_of_upstreams_before_an_outage(bench: Bench):
    told = [bench.app.submit("mail").id]
    bench.app.upstreams.force_open("post", by="ada", reason="it is down")
    watch = bench.worker.breakers.watches["post"]
    watch.read_at = Instant(watch.read_at - 2 * OLD_US)

    bench.run(told, route=MAIL)

    assert bench.row(told[0]).attempt == 0


def test_jobs_of_a_claim_whose_reply_was_lost_are_run(bench: Bench):
    told = bench.submit(1, 2)
    claimer = bench.worker.claimer
    claimer._store = FaultyStore(claimer._store)
    due = claimer._store.due = FaultyStore(claimer._store.due)
    due.lose_reply("claim")

    bench.run(told)

    assert bench.states(told) == [JobState.COMPLETE] * 2
    assert sorted(bench.ran) == [1, 2]


def test_it_hands_back_what_it_is_told_to_stop_in_the_middle_of(bench: Bench):
    told = bench.submit(99)
    caller = threading.Thread(target=bench.run, args=(told,))
    caller.start()
    eventually(lambda: bench.ran)

    bench.worker.request_stop()
    caller.join(PATIENCE_S)

    assert not caller.is_alive()
    assert bench.worker.ended


def test_jobs_of_an_upstream_with_a_rate_wait_for_their_turn(database_url: str):
    began: list[float] = []
    rated = Pipeline("rated")

    @rated.stage(calls=Upstream("notion", rate=Rate(10, per=1, burst=2)))
    def call(job) -> None:
        began.append(time.monotonic())

    with Holdfast(database_url, pipelines=[rated]) as app:
        worker: EmbeddedWorker = app.embedded_worker(OPTIONS)
        worker.start()
        told = [app.submit("rated").id for _ in range(8)]
        ran = worker.run_due(Route("default", "rated", "call"), told, within_s=PATIENCE_S)
        states = {app.job(job_id).state for job_id in told}
        worker.request_stop()
        worker.drain()

    assert (ran, states) == (8, {JobState.COMPLETE})
    assert began[-1] - began[0] >= 0.55
