"""Submissions of a key whose jobs are being removed: each finds a job or makes one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from holdfast import Holdfast, Pipeline, Submit
from holdfast.errors import ConflictError, UnknownJob
from holdfast.retention import Retention
from holdfast.store.tables.retention import Place, Section

ENOUGH = 40
MAX_ROUNDS = 20_000
KEEP_NOTHING = Retention(complete=0, cancelled=0)


def work(**options) -> Pipeline:
    pipeline = Pipeline("work", **options)

    @pipeline.stage
    def do(job) -> str:
        return "done"

    return pipeline


@contextmanager
def purging(database_url: str) -> Iterator[list[Exception]]:
    """Remove jobs that have ended, again and again, beside what is done meanwhile."""
    over, failed = threading.Event(), []

    def purge() -> None:
        with Holdfast(database_url, auto_migrate=False) as cleaner:
            while not over.is_set():
                try:
                    cutoffs = KEEP_NOTHING.cutoffs(cleaner.clock.now())
                    cleaner.store.retention.purge(cutoffs, Place(Section.JOBS))
                except Exception as error:  # noqa: BLE001 - reported by the test's own thread
                    failed.append(error)
                    return

    thread = threading.Thread(target=purge)
    thread.start()
    try:
        yield failed
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(
    ("way", "keep_keys"), [("one", False), ("many", False), ("rerun", False), ("rerun", True)]
)
def test_a_key_submitted_while_its_jobs_go_always_names_a_job(
    database_url: str, way: str, *, keep_keys: bool
):
    with Holdfast(database_url, pipelines=[work(keep_keys=keep_keys)]) as app:
        app.submit("work", key="first")
        made = 0
        with purging(database_url) as failed:
            for number in range(1, MAX_ROUNDS):
                if made == ENOUGH or failed:
                    break
                job_id, created = _submit(app, way, number)
                made += created
                with suppress(UnknownJob):  # cancelled before, and gone since
                    app.cancel(job_id, by="ada")

        assert failed == []
        assert made == ENOUGH
        assert app.verify() == []


@pytest.mark.parametrize("way", ["one", "many"])
def test_a_key_that_is_kept_never_makes_a_second_job_while_its_job_goes(
    database_url: str, way: str
):
    with Holdfast(database_url, pipelines=[work()]) as app:
        app.submit("work", key="first")
        with purging(database_url) as failed:
            for number in range(ENOUGH):
                key = f"k-{number}"
                first = app.submit("work", key=key)
                app.cancel(first.id, by="ada")
                found = {_submit(app, way, number, key=key)}
                for _ in range(MAX_ROUNDS):
                    found.add(_submit(app, way, number, key=key))
                    if failed or app.of_key("work", key)[0].removed_at is not None:
                        break
                found.add(_submit(app, way, number, key=key))

                assert found == {(first.id, False)}
        assert failed == []
        assert app.verify() == []


def _submit(app: Holdfast, way: str, number: int, *, key: str = "k") -> tuple[str, bool]:
    if way == "one":
        handle = app.submit("work", key=key)
        return handle.id, handle.created
    if way == "many":
        [item, other] = app.submit_many("work", [Submit(key=key), Submit()])
        assert (item.error, other.error) == (None, None)
        # What stays would fill the batches, and hide the key's jobs behind it.
        app.cancel(str(other.job_id), by="ada")
        return str(item.job_id), item.created
    try:
        handle = app.submit("work", key=key, version=number, rerun=True)
    except ConflictError:
        raise AssertionError("its version is the highest so far") from None
    return handle.id, handle.created
