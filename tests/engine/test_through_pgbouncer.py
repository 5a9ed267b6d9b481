"""Jobs from submission to end through PgBouncer in transaction mode, with two connections."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from holdfast import Holdfast, JobState, Pipeline, Retry, Submit
from holdfast.testing import Script
from holdfast.testing.postgres.pgbouncer import PrivatePgbouncer
from holdfast.workers import WorkerOptions
from tests.plugins.postgres import SharedServer

SOON_S = 20.0


@pytest.fixture(params=["polling", "listening"])
def urls(
    request: pytest.FixtureRequest, shared_postgres: SharedServer, postgres_url: str
) -> Iterator[dict[str, str]]:
    """The database through a pooler with few connections, and past it where that is known."""
    with PrivatePgbouncer(shared_postgres.url, pool_size=2) as pooler:
        direct = {"direct_url": postgres_url} if request.param == "listening" else {}
        yield {"url": pooler.url_of(postgres_url), **direct}


@contextmanager
def working(app: Holdfast) -> Iterator[None]:
    worker = app.worker(options=WorkerOptions(concurrency=8, poll=0.1))
    worker.start()
    try:
        yield
    finally:
        worker.request_stop()
        assert worker.drain() == 0


def wait_until(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < give_up_at, "it takes too long"
        time.sleep(0.02)


def letters(script: Script) -> Pipeline:
    pipeline = Pipeline("letters", retry=Retry(attempts=3, base=0.0))

    @pipeline.stage
    async def draft(job, to: str) -> str:
        return f"dear {to}"

    pipeline.stage(name="send")(script.handler)
    return pipeline


def test_a_worker_drains_jobs_of_several_stages(urls):
    pipeline = letters(Script(then="sent"))
    with Holdfast(**urls, pipelines=[pipeline]) as app, working(app):
        app.submit_many(pipeline, [Submit(payload={"to": str(n)}) for n in range(100)])
        for number in range(20):
            app.submit(pipeline, {"to": "you"}, key=f"k{number}")

        wait_until(lambda: not any(queue.active for queue in app.queues()))
        assert {view.state for view in app.jobs(limit=200)} == {JobState.COMPLETE}
        assert app.verify() == []


def test_a_failure_is_retried_and_a_final_one_becomes_a_dead_letter(urls):
    script = Script(ConnectionError("away"), "sent", *[ConnectionError("away")] * 3)
    pipeline = letters(script)
    with Holdfast(**urls, pipelines=[pipeline]) as app, working(app):
        saved = app.submit(pipeline, {"to": "ada"})
        wait_until(lambda: saved.get().state is JobState.COMPLETE)
        lost = app.submit(pipeline, {"to": "bob"})
        wait_until(lambda: lost.get().state is JobState.FAILED)

        assert (script.remaining, app.dead.get(lost.id).id) == (0, lost.id)
        assert app.verify() == []


def test_a_job_of_a_callers_transaction_runs_if_and_only_if_that_commits(urls):
    pipeline = letters(Script(then="sent"))
    with (
        Holdfast(**urls, pipelines=[pipeline]) as app,
        closing(psycopg.connect(urls["url"], prepare_threshold=None)) as shop,
        working(app),
    ):
        with shop.transaction():
            kept = app.submit(pipeline, {"to": "ada"}, connection=shop)
            app.publish("ordered", {"to": "ada"}, connection=shop)
        with shop.transaction(force_rollback=True):
            app.submit(pipeline, {"to": "bob"}, connection=shop)

        wait_until(lambda: kept.get().state is JobState.COMPLETE)
        assert [view.id for view in app.jobs()] == [kept.id]
        assert app.outbox.standing().pending == 1


def test_a_tail_tells_what_happens(urls):
    pipeline = letters(Script(then="sent"))
    with Holdfast(**urls, pipelines=[pipeline]) as app:
        tail = app.tail()
        with working(app):
            job = app.submit(pipeline, {"to": "ada"})
            wait_until(lambda: job.get().state is JobState.COMPLETE)

        names = [event.name for event in tail.read() if event.job_id == job.id]
        assert names == ["queued", "processing", "advanced", "processing", "complete"]


def test_a_worker_outlives_a_restart_of_the_pooler(shared_postgres, postgres_url):
    pipeline = letters(Script(then="sent"))
    with (
        PrivatePgbouncer(shared_postgres.url, pool_size=2) as pooler,
        Holdfast(pooler.url_of(postgres_url), pipelines=[pipeline]) as app,
        working(app),
    ):
        before = app.submit(pipeline, {"to": "ada"})
        wait_until(lambda: before.get().state is JobState.COMPLETE)
        pooler.restart()
        after = app.submit(pipeline, {"to": "bob"})

        wait_until(lambda: after.get().state is JobState.COMPLETE)
