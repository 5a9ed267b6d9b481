"""Submissions of a key whose jobs are being removed: each finds a job or makes one."""

import threading
from contextlib import suppress

import pytest

from holdfast import Holdfast, Pipeline, Retention, Submit
from holdfast.errors import ConflictError, UnknownJob
from holdfast.store.retention import Place, Section

work = Pipeline("work")
ENOUGH = 40
MOST_ROUNDS = 20_000


@work.stage
def do(job) -> str:
    return "done"


@pytest.mark.parametrize("way", ["one", "many", "rerun"])
def test_a_key_submitted_while_its_jobs_go_always_names_a_job(database_url: str, way: str):
    over, failed = threading.Event(), []
    keep_nothing = Retention(complete=0, cancelled=0)

    def purge() -> None:
        with Holdfast(database_url, auto_migrate=False) as cleaner:
            while not over.is_set():
                try:
                    cutoffs = keep_nothing.cutoffs(cleaner.clock.now())
                    cleaner.store.retention.purge(cutoffs, Place(Section.JOBS))
                except Exception as error:  # noqa: BLE001 - reported by the test's own thread
                    failed.append(error)
                    return

    with Holdfast(database_url, pipelines=[work]) as app:
        app.submit(work, key="first")
        thread = threading.Thread(target=purge)
        thread.start()
        made = 0
        try:
            for number in range(1, MOST_ROUNDS):
                if made == ENOUGH or failed:
                    break
                job_id, created = _submit(app, way, number)
                made += created
                with suppress(UnknownJob):  # cancelled before, and gone since
                    app.cancel(job_id, by="ada")
        finally:
            over.set()
            thread.join()

        assert failed == []
        assert made == ENOUGH
        assert app.verify() == []


def _submit(app: Holdfast, way: str, number: int) -> tuple[str, bool]:
    if way == "one":
        handle = app.submit(work, key="k")
        return handle.id, handle.created
    if way == "many":
        [item, other] = app.submit_many(work, [Submit(key="k"), Submit()])
        assert (item.error, other.error) == (None, None)
        # What stays would fill the batches, and hide the key's jobs behind it.
        app.cancel(str(other.job_id), by="ada")
        return str(item.job_id), item.created
    try:
        handle = app.submit(work, key="k", version=number, rerun=True)
    except ConflictError:
        raise AssertionError("its version is the highest so far") from None
    return handle.id, handle.created
