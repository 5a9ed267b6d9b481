"""What may be submitted, what is stored, and what is refused before anything is stored."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast import Holdfast, JobState, Pipeline, Submit
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, to_datetime
from holdfast.errors import (
    InvalidDocument,
    InvalidPolicy,
    InvalidValue,
    UnavailableError,
    UnknownJob,
    UnknownPipeline,
    UsageError,
)
from holdfast.testing import run_inline

DAY_S = 86_400


def test_a_submitted_job_is_queued_and_due(app, clock):
    job = app.submit("p", {"n": 1})

    view = job.get()
    assert job.created
    assert (view.state, view.label, view.payload) == (JobState.QUEUED, "due", {"n": 1})
    assert view.created_at == to_datetime(clock.now())
    assert view.to_document()["id"] == job.id


def test_every_option_reaches_the_row(app, clock):
    job = app.submit(
        "p",
        key="k",
        owner="ada",
        version=7,
        queue="slow",
        priority=3,
        delay=60,
        deadline=3600,
        trace="00-abc-def-01",
    )

    row = job.get().job
    assert (row.key, row.owner, row.version, row.queue) == ("k", "ada", 7, "slow")
    assert (row.priority, row.trace) == (3, "00-abc-def-01")
    assert row.run_at == clock.now() + 60 * SECOND_US
    assert row.deadline_at == clock.now() + 3600 * SECOND_US


@pytest.mark.parametrize("payload", [None, 0, "", [], {}, {"a": [1, {"b": "é🙂"}]}, -0.0, 1e300])
def test_any_json_is_a_payload(app, payload):
    assert app.submit("p", payload).get().payload == payload


@pytest.mark.parametrize(
    "payload",
    [
        float("nan"),
        float("inf"),
        {"a": "\x00"},
        "\ud800",
        {1: 2},
        {"a": object()},
        {1, 2},
        b"bytes",
        10**5000,
        "x" * 20_000_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused_and_nothing_is_stored(app, payload):
    with pytest.raises(InvalidDocument, match="payload"):
        app.submit("p", payload)

    assert app.jobs() == []


def test_a_payload_too_deep_is_refused(app):
    deep: list = []
    for _ in range(5_000):
        deep = [deep]

    with pytest.raises(InvalidDocument, match="payload"):
        app.submit("p", deep)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"key": ""}, "key"),
        ({"key": "x" * 256}, "key"),
        ({"key": "a\x00b"}, "key"),
        ({"key": "a\nb"}, "key"),
        ({"key": "\ud800"}, "key"),
        ({"key": 7}, "key"),
        ({"owner": "a\tb"}, "owner"),
        ({"owner": None}, "owner"),
        ({"trace": ""}, "trace"),
        ({"version": 0}, "version"),
        ({"version": 2**31}, "version"),
        ({"version": True}, "version"),
        ({"version": "1"}, "version"),
        ({"priority": 4}, "priority"),
        ({"priority": -1}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": 1.0}, "priority"),
        ({"priority": [1]}, "priority"),
        ({"queue": "no spaces"}, "name"),
        ({"queue": ""}, "name"),
        ({"rerun": True}, "rerun"),
        ({"run_at": datetime(2026, 1, 1)}, "run_at"),  # noqa: DTZ001 - that is the point
        ({"run_at": datetime(1969, 1, 1, tzinfo=UTC)}, "run_at"),
        ({"run_at": datetime(2026, 1, 1, tzinfo=UTC), "delay": 1}, "run_at"),
        ({"deadline": datetime(2026, 1, 1)}, "deadline"),  # noqa: DTZ001
    ],
)
def test_an_option_outside_its_limits_is_refused_by_name(app, options, field):
    with pytest.raises(InvalidValue, match=field):
        app.submit("p", **options)

    assert app.jobs() == []


@pytest.mark.parametrize("field", ["delay", "deadline"])
@pytest.mark.parametrize("span", [-1, float("nan"), float("inf"), 11 * 365 * DAY_S, "1", True])
def test_a_span_that_makes_no_sense_is_refused(app, field, span):
    with pytest.raises(InvalidPolicy, match=field):
        app.submit("p", **{field: span})


def test_a_deadline_of_nothing_is_refused_and_a_delay_of_nothing_means_now(app, clock):
    with pytest.raises(InvalidPolicy, match="deadline"):
        app.submit("p", deadline=0)

    assert app.submit("p", delay=0).get().job.run_at == clock.now()


def test_spans_may_be_timedeltas_and_instants_datetimes_of_any_zone(app, clock):
    moment = to_datetime(clock.now()) + timedelta(hours=1)
    local = moment.astimezone(timezone(timedelta(hours=-5)))

    row = app.submit("p", run_at=local, deadline=timedelta(hours=2)).get().job

    assert row.run_at == clock.now() + 3600 * SECOND_US
    assert row.deadline_at == clock.now() + 7200 * SECOND_US


def test_a_deadline_in_the_past_fails_the_job_and_one_in_9999_does_not(app, clock):
    past = app.submit("p", deadline=datetime(2000, 1, 1, tzinfo=UTC))
    far = app.submit("p", deadline=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
    assert past.get().label == "overdue"
    run_inline(app)

    assert past.get().error["error_class"] == "TIMEOUT"
    assert far.get().state is JobState.COMPLETE
    assert far.get().job.deadline_at == FAR_FUTURE


def test_the_deadline_of_the_pipeline_is_the_default(open_app, clock):
    pipeline = Pipeline("limited", deadline=60)
    pipeline.stage(name="one")(lambda job: None)
    app = open_app(pipeline)

    assert app.submit(pipeline).get().job.deadline_at == clock.now() + 60 * SECOND_US
    assert app.submit(pipeline, deadline=5).get().job.deadline_at == clock.now() + 5 * SECOND_US


def test_unknown_pipelines_are_refused_with_the_known_ones_named(app):
    stranger = Pipeline("p")
    stranger.stage(name="one")(lambda job: None)

    with pytest.raises(UnknownPipeline, match=r"known: p"):
        app.submit("q")
    with pytest.raises(UnknownPipeline):
        app.submit(stranger)


def test_a_pipeline_without_stages_is_refused(open_app):
    app = open_app(Pipeline("empty"))

    with pytest.raises(UsageError, match="no stages"):
        app.submit("empty")


def test_two_pipelines_of_one_name_are_refused(open_app):
    with pytest.raises(UsageError, match="two pipelines"):
        open_app(Pipeline("same"), Pipeline("same"))


@pytest.mark.parametrize("job_id", ["", "nonsense", "0190", "\x00", None, 7])
def test_what_is_no_id_names_no_job(app, job_id):
    with pytest.raises(UnknownJob):
        app.job(job_id)


def test_an_id_may_be_written_in_any_case(app):
    job = app.submit("p")

    assert app.job(job.id.upper()).id == job.id


def test_jobs_are_listed_newest_first_page_by_page(app):
    jobs = [app.submit("p") for _ in range(5)]
    first = app.jobs(limit=2)
    second = app.jobs(limit=2, before=first[-1].id)

    assert [view.id for view in (*first, *second)] == [job.id for job in reversed(jobs)][:4]
    with pytest.raises(InvalidValue, match="limit"):
        app.jobs(limit=0)


def test_waiting_for_a_job_ends_with_it_or_in_time(app):
    job = app.submit("p")
    with pytest.raises(TimeoutError, match="is due after"):
        job.wait(timeout=0)

    runner = threading.Timer(0.05, lambda: run_inline(app))
    runner.start()
    assert job.wait(timeout=20).state is JobState.COMPLETE
    runner.join()


def test_a_database_that_cannot_be_reached_is_said_so():
    with (
        Holdfast("postgresql://nobody:secret@127.0.0.1:9/none?connect_timeout=1") as app,
        pytest.raises(UnavailableError) as caught,
    ):
        app.jobs()

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://x", "nonsense", ""])
def test_a_url_of_another_database_is_refused(url):
    with pytest.raises(InvalidValue, match="url"):
        Holdfast(url)


def test_submissions_from_many_threads_are_all_stored(app):
    ids: list[str] = []

    def submit():
        ids.extend(app.submit("p").id for _ in range(10))

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(ids)) == 80
    assert {view.id for view in app.jobs(limit=100)} == set(ids)


def test_a_submission_is_a_value(app):
    assert Submit() == Submit(payload=None)
    with pytest.raises(AttributeError):
        Submit().key = "other"
