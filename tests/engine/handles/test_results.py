"""Results of jobs: waited for, awaited, several as they come, and why there is none."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from holdfast import Holdfast, Pipeline, Retry, UserError, results
from holdfast.errors import JobCancelled, JobFailed, ResultTimeout, UnknownJob
from holdfast.testing import run_inline

WAIT_S = 30


@pytest.fixture
def app(open_app) -> Holdfast:
    pipeline = Pipeline("p", retry=Retry(attempts=1))

    @pipeline.stage
    def stage(job, then: str | None = None) -> str:
        if then == "fails":
            raise RuntimeError("no such account")
        if then == "is refused":
            raise UserError("BAD_ACCOUNT", "that account is closed")
        return f"{job.key} is done"

    return open_app(pipeline)


@contextmanager
def run_meanwhile(app: Holdfast) -> Iterator[None]:
    """Run all jobs in a thread as soon as a handle waits."""

    def run() -> None:
        until_a_handle_waits()
        run_inline(app)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


def until_a_handle_waits() -> None:
    """Return once the thread that listens for all handles of an application is there."""
    give_up_at_s = time.monotonic() + WAIT_S
    while not any(each.name == "holdfast-endings" for each in threading.enumerate()):
        assert time.monotonic() < give_up_at_s, "no handle waits"
        time.sleep(0.001)


def test_a_result_is_returned_once_the_job_is_complete(app):
    handle = app.submit("p", {}, key="k")
    with run_meanwhile(app):
        assert handle.result(WAIT_S) == "k is done"
    assert handle.result(0) == "k is done"
    assert handle.state == "complete"


def test_a_result_that_another_process_has_made_is_noticed(app, database_url):
    handle = app.submit("p", {}, key="k")
    with (
        Holdfast(database_url, pipelines=app.pipelines.values()) as other,
        run_meanwhile(other),
    ):
        assert handle.result(WAIT_S) == "k is done"


def test_a_failed_job_raises_why_with_what_may_be_shown_and_its_dead_letter(app):
    failed, refused = app.submit("p", {"then": "fails"}), app.submit("p", {"then": "is refused"})
    run_inline(app)

    with pytest.raises(JobFailed, match="failed with BUG: no such account") as raised:
        failed.result(0)
    assert (raised.value.error_class, raised.value.letter) == ("BUG", failed.id)
    assert "no such account" not in str(raised.value.line)
    with pytest.raises(JobFailed, match="BAD_ACCOUNT") as raised:
        refused.result(0)
    assert raised.value.letter is None


def test_a_cancelled_job_and_one_that_goes_on_are_told_apart(app):
    cancelled, waiting = app.submit("p", {}), app.submit("p", {}, delay=60)
    cancelled.cancel(reason="not needed")

    with pytest.raises(JobCancelled):
        cancelled.result(0)
    with pytest.raises(ResultTimeout, match="is scheduled after 0 s") as raised:
        waiting.result(0)
    assert isinstance(raised.value, TimeoutError)
    assert waiting.state == "queued"


def test_a_failed_job_is_sent_back_by_its_handle(app):
    handle = app.submit("p", {"then": "fails"})
    run_inline(app)

    assert handle.retry(reason="mended").state == "queued"
    assert app.history(handle.id)[-1].meta["by"] == "program"


def test_a_job_that_is_removed_while_it_is_waited_for_is_unknown(app, clock):
    handle = app.submit("p", {})
    run_inline(app)
    clock.advance(timedelta(days=400))
    app.purge()

    with pytest.raises(UnknownJob):
        handle.result(0)


def test_several_results_come_as_they_end(app):
    later = app.submit("p", {}, key="later", delay=60)
    handles = [later, *(app.submit("p", {}, key=f"k{n}") for n in range(3))]
    with run_meanwhile(app):
        found = results(handles, timeout=WAIT_S)
        ended = {next(found).result(0) for _ in range(3)}

    assert ended == {"k0 is done", "k1 is done", "k2 is done"}
    with pytest.raises(ResultTimeout, match="scheduled"):
        list(results([later], timeout=0))


def test_results_are_awaited_while_the_loop_goes_on(app):
    async def main() -> list[str]:
        handles = [await app.aio.submit("p", {}, key=f"k{n}") for n in range(3)]
        waiting = [asyncio.create_task(handle.aresult(WAIT_S)) for handle in handles]
        await asyncio.to_thread(until_a_handle_waits)
        await asyncio.to_thread(run_inline, app)
        assert [done.id for done in [each async for each in app.aio.results(handles)]] != []
        return await asyncio.gather(*waiting)

    assert asyncio.run(main()) == ["k0 is done", "k1 is done", "k2 is done"]


def test_an_awaited_result_says_as_much_of_a_failure(app):
    async def main() -> None:
        failed = await app.aio.submit("p", {"then": "fails"})
        waiting = await app.aio.submit("p", {}, delay=60)
        await asyncio.to_thread(run_inline, app)
        with pytest.raises(JobFailed):
            await failed.aresult()
        with pytest.raises(ResultTimeout):
            await waiting.aresult(0)
        with pytest.raises(ResultTimeout):
            [each async for each in app.aio.results([waiting], timeout=0)]
        await app.aio.cancel(waiting.id, by="ada")
        with pytest.raises(JobCancelled):
            await waiting.aresult()

    asyncio.run(main())
