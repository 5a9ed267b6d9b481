"""A pipeline's own words and codes: the same in histories, streams, logs and dead letters."""

import logging

import pytest

from holdfast import GiveUp, Holdfast, Pipeline, Retry
from holdfast.classify import PublicCode, PublicCodes
from holdfast.errors import InvalidPolicy
from holdfast.testing import Script, drain, run_inline

CODES = PublicCodes(
    {
        "SHOP_DOWN": PublicCode(message="The shop is closed for now."),
        "TOO_LARGE": PublicCode(message="That is too much."),
        "UNKNOWN": PublicCode(message="Something went wrong."),
    },
    mapping={"NETWORK": "SHOP_DOWN", lambda failure: failure.http_status == 413: "TOO_LARGE"},
    default="UNKNOWN",
    line=lambda failure, code: failure.message if code.code == "TOO_LARGE" else None,
)
WORDS = {
    "completed": "complete",
    "retried": "retry",
    "revived": "queued",
    "result_removed": "expired",
}


@pytest.fixture
def shop(open_app, script) -> Holdfast:
    """An app whose pipeline has words and codes of its own."""
    pipeline = Pipeline(
        "shop",
        retry=Retry(attempts=2, base=10, jitter="none"),
        public_codes=CODES,
        events=WORDS,
        log_attempts=True,
    )
    pipeline.stage(name="buy")(script.handler)
    return open_app(pipeline)


def events_of(app: Holdfast, job_id: str) -> list[tuple[str, str | None]]:
    lines = [line.to_document() for line in app.history(job_id)]
    return [(line["event"], line["meta"]["error_code"]) for line in lines]


def test_history_stream_and_logs_use_the_same_words_and_codes(shop, script, caplog):
    caplog.set_level(logging.INFO, "holdfast.worker")
    script._outcomes = (ConnectionResetError("10.0.0.7"), GiveUp("GONE", "at /srv/shop"), 1)
    tail = shop.tail()
    job = shop.submit("shop")
    drain(shop)
    shop.retry(job.id, by="ada")
    run_inline(shop)

    streamed = [(event.name, event.data["meta"]["error_code"]) for event in tail.read()]
    logged = [(line.event, line.error_code) for line in caplog.records if hasattr(line, "job_id")]

    assert events_of(shop, job.id) == [
        ("queued", None),
        ("processing", None),
        ("retry", "SHOP_DOWN"),
        ("processing", None),
        ("failed", "UNKNOWN"),
        ("queued", None),
        ("processing", None),
        ("complete", None),
    ]
    assert streamed == events_of(shop, job.id)
    # What is submitted is no action of a worker.
    assert logged == events_of(shop, job.id)[1:]


def test_the_error_class_stands_beside_the_code(shop, script, caplog):
    caplog.set_level(logging.INFO, "holdfast.worker")
    script._outcomes = (GiveUp("GONE", "at /srv/shop"),)
    tail = shop.tail()
    job = shop.submit("shop")
    run_inline(shop)

    failed = shop.history(job.id)[-1].meta
    streamed = tail.read()[-1].data["meta"]
    (attempt,) = shop.attempts(job.id)
    (letter,) = (view.to_document() for view in shop.dead.find())

    for meta in (failed, streamed, vars(caplog.records[-1]), letter):
        assert (meta["error_code"], meta["error_class"]) == ("UNKNOWN", "GONE")
        assert meta["error_message"] == "Something went wrong."
    assert (attempt.error_code, attempt.error_class) == ("UNKNOWN", "GONE")
    assert failed["message"] == letter["message"] == "at /srv/shop"


def test_every_event_has_the_same_facts_in_its_meta(shop, script):
    script._outcomes = (ConnectionResetError(), 1)
    tail = shop.tail()
    job = shop.submit("shop")
    drain(shop)

    history = [line.to_document()["meta"] for line in shop.history(job.id)]
    streamed = [event.data["meta"] for event in tail.read()]

    facts = {"attempt", "duration_ms", "gateway_http_status", "error_code"}
    assert all(facts <= meta.keys() for meta in (*history, *streamed))


def test_a_handler_notes_what_the_upstream_answered_and_the_history_of_a_success_has_it(
    open_app, script
):
    pipeline = Pipeline("shop", retry=Retry(attempts=1))

    @pipeline.stage
    def ask(job):
        job.answered(200)

    @pipeline.stage
    def pay(job):
        job.answered(204)
        return 1

    @pipeline.stage
    def rest(job):
        return 2

    app = open_app(pipeline)
    jobs = [app.submit("shop") for _ in range(3)]
    run_inline(app)

    for job in jobs:
        ends = [line for line in app.history(job.id) if line.event in {"advanced", "completed"}]
        assert [line.meta.get("gateway_http_status") for line in ends] == [200, 204, None]
    assert app.verify() == []


def test_a_last_stage_may_have_noted_it_too(open_app):
    pipeline = Pipeline("shop")

    @pipeline.stage
    def ask(job):
        job.answered(201)

    app = open_app(pipeline)
    job = app.submit("shop")
    run_inline(app)

    assert app.history(job.id)[-1].meta["gateway_http_status"] == 201


@pytest.mark.parametrize("status", [99, 600, "200", None, True])
def test_what_is_no_status_cannot_be_noted(open_app, status):
    pipeline = Pipeline("shop", retry=Retry(attempts=1))
    pipeline.stage(name="ask")(lambda job: job.answered(status))
    app = open_app(pipeline)
    job = app.submit("shop")
    run_inline(app)

    assert "from 100 to 599" in job.get().error["message"]


def test_attempts_are_logged_at_info_only_where_the_pipeline_asks_for_it(open_app, caplog):
    caplog.set_level(logging.INFO, "holdfast.worker")
    loud, quiet = Pipeline("loud", log_attempts=True), Pipeline("quiet")
    loud.stage(name="one")(Script(then=1).handler)
    quiet.stage(name="one")(Script(then=1).handler)
    app = open_app(loud, quiet)
    for pipeline in (loud, quiet):
        app.submit(pipeline)
    run_inline(app)

    lines = [line for line in caplog.records if hasattr(line, "job_id")]
    assert [(line.pipeline, line.event, line.levelname) for line in lines] == [
        ("loud", "processing", "INFO"),
        ("loud", "completed", "INFO"),
    ]
    assert lines[1].duration_ms is not None


@pytest.mark.parametrize(
    "events",
    [
        {"finished": "complete"},
        {"completed": "done"},
        {"completed": ""},
        {"completed": 7},
        {"completed": "breaker"},
    ],
)
def test_words_for_events_are_checked_when_they_are_declared(events):
    with pytest.raises(InvalidPolicy, match="events"):
        Pipeline("shop", events=events)


def test_that_a_result_was_removed_is_noted_once(shop):
    tail = shop.tail()
    job, failed = shop.submit("shop"), shop.submit("shop")
    assert shop.note_result_removed(job.id, by="retention") is False
    run_inline(shop, until=job)

    noted = [shop.note_result_removed(job.id, by="retention", reason="old") for _ in range(2)]

    assert noted == [True, False]
    assert shop.note_result_removed(failed.id, by="retention") is False
    last = shop.history(job.id)[-1]
    assert (last.event, last.word, last.meta["by"]) == ("result_removed", "expired", "retention")
    assert [event.name for event in tail.read() if event.job_id == job.id][-1] == "expired"
    assert (job.get().state, job.get().result) == ("complete", 1)
    assert shop.verify() == []


def test_a_view_says_when_the_job_was_last_queued(shop, script, clock):
    script._outcomes = (GiveUp("GONE"),) * 2
    job = shop.submit("shop")
    run_inline(shop)
    clock.advance(60)
    answer = shop.retry(job.id, by="ada")
    sent_back_at = clock.now()
    clock.advance(60)
    run_inline(shop)

    (listed,) = shop.jobs()

    assert answer.sent_back_at == job.get().sent_back_at == listed.sent_back_at == sent_back_at
    assert listed.queued_at > listed.created_at
    assert shop.submit("shop").get().sent_back_at is None
