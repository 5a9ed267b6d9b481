"""What becomes of a file that somebody sends, from its upload to its end."""

import threading
from datetime import UTC, datetime

import pytest

from apps.converter.tests.system.stand_in import PDF_BYTES, QUICK, make_converter
from converter.codes import CODES
from converter.conversions import upload_of
from converter.limits import Quota
from converter.payload import Upload
from converter.pipeline import PIPELINE
from converter.presentation import result_name
from converter.refusals import Expired, Forbidden, NotReady, NotTaken, QuotaReached
from converter.storage.async_files import GATHERED_BYTES
from converter.storage.errors import StorageFailed, StorageFull
from holdfast import Holdfast, JobContext, JobState, Pipeline
from holdfast.errors import UnknownJob, WrongState
from holdfast.retention import Retention
from holdfast.testing import ManualClock, drain


def read(conversions, job_id, owner="ada"):
    with conversions.result(job_id, owner=owner) as reading:
        return b"".join(reading)


def upload(**changes):
    facts = {"source": "b.pdf", "filename": "a.pdf", "mapping": "text", "size": 9, "sha256": "0"}
    return Upload(**(facts | changes))


def code_of(converter, job_id):
    return CODES.of(converter.app.job(job_id).error).code


def test_a_pdf_becomes_xml_that_its_owner_can_fetch(converter):
    taken = converter.take(mapping="layout", name="invoice.pdf")
    converter.run()

    assert taken.created
    assert read(converter.conversions, taken.job.id) == b"<document/>"
    assert converter.gateway.calls == [("layout", PDF_BYTES)]
    upload = upload_of(taken.job)
    assert (upload.filename, upload.size) == ("invoice.pdf", len(PDF_BYTES))


def test_files_that_lie_elsewhere_are_converted_alike(database_url, uploads, results):
    uploads.is_near = False
    for converter in make_converter(database_url, uploads, results):
        taken = converter.take()
        converter.run()

        assert read(converter.conversions, taken.job.id) == b"<document/>"


class TestTwins:
    def test_a_twin_in_progress_is_the_same_job(self, converter):
        first, second = converter.take(), converter.take(name="b.pdf")

        assert (second.job.id, second.created) == (first.job.id, False)
        converter.run()
        assert len(converter.gateway.calls) == 1

    def test_a_twin_that_is_complete_is_the_same_job(self, converter):
        first = converter.take()
        converter.run()

        assert converter.take().job.id == first.job.id

    @pytest.mark.parametrize(
        "other", [{"owner": "bob"}, {"mapping": "raw"}, {"body": PDF_BYTES + b"!"}]
    )
    def test_another_owner_mapping_or_file_is_another_job(self, converter, other):
        first = converter.take()

        assert converter.take(**other).job.id != first.job.id

    def test_files_of_one_hash_and_different_lengths_are_different_jobs(self, converter):
        whole = [upload(source=f"{size}.pdf", size=size) for size in (9, 10, 9)]

        found = [converter.conversions._submit(each, "ada", 1).job.id for each in whole]

        assert found[0] != found[1]
        assert found[0] == found[2]

    def test_a_twin_that_failed_or_lost_its_result_is_no_twin(self, converter):
        converter.gateway.plays += [StorageFull("results", "no room")]
        failed = converter.take()
        converter.run()
        second = converter.take()
        converter.run()
        converter.results.remove(result_name(second.job.id))
        third = converter.take()

        assert len({failed.job.id, second.job.id, third.job.id}) == 3
        assert (second.created, third.created) == (True, True)

    def test_a_file_whose_conversion_was_removed_is_converted_anew(self, converter):
        first = converter.take()
        converter.run()
        converter.app.retention = Retention(complete=0)
        assert converter.app.purge()["jobs"] == 1
        again = converter.take()

        assert (again.created, again.job.id != first.job.id) == (True, True)

    def test_the_file_of_a_twin_is_not_kept_twice(self, converter, tmp_path):
        converter.take()
        converter.take()

        assert len(list((tmp_path / "uploads").glob("*.pdf"))) == 1

    def test_twins_sent_at_the_same_moment_are_one_job(self, converter):
        found, together = [], threading.Barrier(8)

        def send():
            together.wait()
            found.append(converter.take())

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len({taken.job.id for taken in found}) == 1
        assert sum(taken.created for taken in found) == 1


class TestNotTaken:
    @pytest.mark.parametrize(
        ("body", "code"),
        [(b"<svg/>", "NOT_PDF"), (b"", "NOT_PDF"), (PDF_BYTES + b" " * 10_000, "TOO_LARGE")],
    )
    def test_what_is_no_pdf_or_too_large_leaves_a_failed_job_and_no_file(
        self, converter, tmp_path, body, code
    ):
        with pytest.raises(NotTaken) as refused:
            converter.take(body)

        assert refused.value.told.code == code
        view = converter.app.job(refused.value.job_id)
        assert (view.state, code_of(converter, view.id)) == (JobState.FAILED, code)
        assert list((tmp_path / "uploads").iterdir()) == []
        assert not converter.conversions.kept([view]).can_retry(view)
        assert converter.gateway.calls == []

    def test_a_disk_that_refuses_is_told_as_an_io_error(self, converter, tmp_path):
        folder = tmp_path / "uploads"
        folder.rmdir()
        folder.write_text("in the way")

        with pytest.raises(NotTaken) as refused:
            converter.take()

        assert refused.value.told.code == "IO_ERROR"
        assert code_of(converter, refused.value.job_id) == "IO_ERROR"

    def test_nobody_has_to_see_to_what_was_not_taken(self, converter):
        with pytest.raises(NotTaken):
            converter.take(b"<svg/>")

        assert converter.app.dead.find() == []
        assert converter.app.verify() == []


class TestJobsOfTheTwoStages:
    """Jobs that were stored while refused files went through the queue."""

    @pytest.fixture
    def before(self, database_url, uploads, results):
        """A converter of that time, on the same database."""
        pipeline = Pipeline(PIPELINE, payload=Upload, retry=QUICK, public_codes=CODES)

        @pipeline.stage
        async def accept(_job: JobContext, payload: Upload) -> None:
            raise AssertionError("another version runs it")

        @pipeline.stage
        async def convert(_job: JobContext, payload: Upload) -> None:
            raise AssertionError("another version runs it")

        with Holdfast(database_url, pipelines=[pipeline], clock=ManualClock()) as app:
            yield app

    def test_one_that_waits_to_be_accepted_is_converted(self, converter, before):
        converter.uploads.put("a" * 32 + ".pdf", [PDF_BYTES])
        sent = upload(source="a" * 32 + ".pdf")
        job = before.submit(PIPELINE, sent, owner="ada")

        drain(converter.app)

        assert converter.app.job(job.id).state is JobState.COMPLETE
        assert read(converter.conversions, job.id) == b"<document/>"

    def test_one_that_was_refused_fails_with_its_code(self, converter, before):
        job = before.submit(PIPELINE, upload(refused="TOO_LARGE"), owner="ada")

        drain(converter.app)

        assert code_of(converter, job.id) == "TOO_LARGE"
        assert converter.gateway.calls == []


class TestQuota:
    def test_of_files_sent_at_once_no_more_are_taken_than_one_may_have(
        self, database_url, uploads, results
    ):
        for converter in make_converter(database_url, uploads, results, max_under_way=5):
            refused, together = [], threading.Barrier(20)

            def send(number, converter=converter, refused=refused, together=together):
                together.wait()
                try:
                    converter.take(PDF_BYTES + bytes([number]))
                except QuotaReached:
                    refused.append(number)

            threads = [threading.Thread(target=send, args=[number]) for number in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

            assert len(refused) == 15
            assert len(converter.app.jobs()) == 5
            assert converter.take(owner="bob").created
            converter.run()
            assert converter.take(PDF_BYTES + b"once more").created

    def test_a_place_is_free_again_when_nothing_came_of_it(self):
        quota = Quota(1, under_way=lambda _owner, _most: 0)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError), quota.place("ada"):
                raise ZeroDivisionError
        for _ in range(3):
            with pytest.raises(ZeroDivisionError), quota.place("ada") as fill:
                fill(lambda: 1 / 0)
        with quota.place("ada"), pytest.raises(QuotaReached), quota.place("ada"):
            pass


async def fails_to_write(_draft):
    raise StorageFailed("results", "the disk does not answer")


class TestStorageFailures:
    def test_a_failed_result_write_is_retried_once_also_after_failed_calls(self, converter):
        converter.gateway.plays += [ConnectionResetError("lost"), fails_to_write, b"<kept/>"]
        taken = converter.take()
        drain(converter.app)

        assert converter.app.job(taken.job.id).state is JobState.COMPLETE
        assert read(converter.conversions, taken.job.id) == b"<kept/>"

    def test_a_result_write_that_fails_in_the_last_attempt_is_retried_once(self, converter):
        lost = ConnectionResetError("lost")
        converter.gateway.plays += [lost, lost, fails_to_write, b"<kept/>"]
        taken = converter.take()
        drain(converter.app)

        assert read(converter.conversions, taken.job.id) == b"<kept/>"

    def test_beyond_the_last_attempt_nothing_but_a_write_is_retried(self, converter):
        lost = ConnectionResetError("lost")
        converter.gateway.plays += [lost, fails_to_write, fails_to_write, b"<never/>"]
        twice = converter.take()
        drain(converter.app)
        converter.gateway.plays[:] = [lost, lost, fails_to_write, lost, b"<never/>"]
        other = converter.take(PDF_BYTES + b"another")
        drain(converter.app)

        assert code_of(converter, twice.job.id) == "IO_ERROR"
        assert code_of(converter, other.job.id) == "GW_5XX"
        assert len(converter.gateway.calls) == 3 + 4

    def test_a_failed_result_write_is_retried_once(self, converter):
        converter.gateway.plays += [fails_to_write, fails_to_write, b"<never/>"]
        taken = converter.take()
        converter.run()
        converter.app.clock.advance(100)
        converter.run()

        assert len(converter.gateway.calls) == 2
        assert code_of(converter, taken.job.id) == "IO_ERROR"

    def test_a_full_disk_is_not_tried_again_and_leaves_nothing(self, converter, tmp_path):
        async def fail(draft):
            await draft.write(b"<half" * GATHERED_BYTES)
            raise StorageFull("results", "no room")

        converter.gateway.plays += [fail]
        taken = converter.take()
        converter.run()

        assert code_of(converter, taken.job.id) == "IO_ERROR"
        assert len(converter.gateway.calls) == 1
        assert list((tmp_path / "results").iterdir()) == []

    def test_a_result_that_is_there_already_is_kept_and_not_made_again(self, converter):
        taken = converter.take()
        converter.results.put(result_name(taken.job.id), [b"<before/>"])
        converter.run()

        assert converter.gateway.calls == []
        assert read(converter.conversions, taken.job.id) == b"<before/>"

    def test_a_source_that_is_gone_is_told_as_expired(self, converter):
        taken = converter.take()
        converter.uploads.remove(upload_of(taken.job).source)
        converter.run()

        assert code_of(converter, taken.job.id) == "EXPIRED"


class TestOwners:
    def test_nothing_of_it_is_a_strangers(self, converter):
        job_id = converter.take().job.id
        conversions = converter.conversions

        for attempt in (
            lambda: conversions.job(job_id, owner="eve"),
            lambda: conversions.result(job_id, owner="eve"),
            lambda: conversions.retry(job_id, owner="eve", by="eve"),
            lambda: conversions.remove(job_id, owner="eve", by="eve"),
        ):
            with pytest.raises(Forbidden):
                attempt()
        assert conversions.job(job_id, owner=None).id == job_id

    def test_a_job_that_is_none_is_unknown_to_who_sees_all_and_nobody_elses_business(
        self, converter
    ):
        nobodys = "018f0000-0000-7000-8000-000000000000"

        with pytest.raises(UnknownJob):
            converter.conversions.job(nobodys, owner=None)
        with pytest.raises(Forbidden):
            converter.conversions.job(nobodys, owner="ada")

    def test_a_job_of_another_pipeline_is_no_conversion(self, converter):
        other = Pipeline("other")

        @other.stage
        def only(job: JobContext) -> None:
            pass

        converter.app.add(other)
        job_id = converter.app.submit("other", owner="ada").id

        with pytest.raises(UnknownJob):
            converter.conversions.job(job_id, owner=None)
        for attempt in (
            lambda: converter.conversions.job(job_id, owner="ada"),
            lambda: converter.conversions.retry(job_id, owner="ada", by="ada"),
            lambda: converter.conversions.remove(job_id, owner="ada", by="ada"),
        ):
            with pytest.raises(Forbidden):
                attempt()
        assert converter.app.job(job_id).state is JobState.QUEUED


class TestRetry:
    def test_a_failed_conversion_goes_back_and_completes(self, converter):
        converter.gateway.plays += [StorageFull("results", "no room")]
        job_id = converter.take().job.id
        converter.run()
        failed = converter.app.job(job_id)
        assert converter.conversions.kept([failed]).can_retry(failed)

        assert converter.conversions.retry(job_id, owner="ada", by="ada").state is JobState.QUEUED
        converter.run()

        assert read(converter.conversions, job_id) == b"<document/>"

    def test_without_its_file_it_cannot_be_retried(self, converter):
        converter.gateway.plays += [StorageFull("results", "no room")]
        taken = converter.take()
        converter.run()
        converter.uploads.remove(upload_of(taken.job).source)

        with pytest.raises(Expired):
            converter.conversions.retry(taken.job.id, owner="ada", by="ada")
        assert converter.app.job(taken.job.id).state is JobState.FAILED

    def test_what_has_not_failed_cannot_be_retried(self, converter):
        job_id = converter.take().job.id

        with pytest.raises(WrongState):
            converter.conversions.retry(job_id, owner="ada", by="ada")


class TestFetching:
    def test_before_its_time_it_is_not_ready_and_after_it_is_expired(self, converter):
        job_id = converter.take().job.id
        with pytest.raises(NotReady):
            converter.conversions.result(job_id, owner="ada")
        converter.run()
        converter.results.remove(result_name(job_id))

        with pytest.raises(Expired):
            converter.conversions.result(job_id, owner="ada")

    def test_removing_ends_what_is_under_way_and_takes_the_files_along(self, converter, tmp_path):
        under_way = converter.take().job.id
        converter.conversions.remove(under_way, owner="ada", by="ada")
        assert converter.app.job(under_way).state is JobState.CANCELLED
        complete = converter.take().job.id
        converter.run()
        converter.conversions.remove(complete, owner="ada", by="ada")

        left = [*(tmp_path / "uploads").iterdir(), *(tmp_path / "results").iterdir()]
        assert [(path.name, path.stat().st_size) for path in left] == [(result_name(under_way), 0)]
        assert under_way != complete

    def test_xml_that_is_kept_after_its_conversion_was_removed_is_not(self, converter, tmp_path):
        job_id = converter.take().job.id

        async def removed_meanwhile(into):
            await into.write(b"<secret/>")
            converter.conversions.remove(job_id, owner="ada", by="ada")

        converter.gateway.plays.append(removed_meanwhile)
        converter.run()

        assert converter.app.job(job_id).state is JobState.CANCELLED
        assert {path.read_bytes() for path in (tmp_path / "results").glob("[!.]*")} == {b""}


def test_a_mapping_that_there_is_not_is_refused_before_the_file_is_read(converter):
    with pytest.raises(NotTaken) as caught:
        converter.take(mapping="nonsense")

    assert caught.value.told.http_status == 400
    assert caught.value.told.message == (
        "Couldn’t convert this file with the selected mapping. "
        "There is no mapping nonsense; choose one of text, layout, raw."
    )
    job = converter.app.job(caught.value.job_id)
    assert (job.state, job.job.error_class) == (JobState.FAILED, "INVALID_MAPPING")
    assert converter.app.dead.find() == []
    assert list(converter.uploads.written_before(datetime.max.replace(tzinfo=UTC))) == []


@pytest.mark.parametrize(("mapping", "line"), [("", "Choose a mapping:"), ("<b>", "There is no")])
def test_no_mapping_or_an_odd_one_is_refused_without_repeating_it(converter, mapping, line):
    with pytest.raises(NotTaken) as caught:
        converter.take(mapping=mapping)

    assert line in caught.value.told.message
    assert "<b>" not in caught.value.told.message
    assert list(converter.uploads.written_before(datetime.max.replace(tzinfo=UTC))) == []
