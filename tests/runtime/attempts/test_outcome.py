"""From what a handler returned or raised to the event: every odd thing has a defined meaning."""

import asyncio
import json
import socket
from collections import UserDict
from dataclasses import replace

import pytest

from holdfast import GiveUp, JobState, Pipeline, Retry, RetryLater, Wait
from holdfast.classify import Rule, Verdict
from holdfast.core.job.event import Done, Failed, Interrupted, Snoozed, Suspended
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, Failure
from holdfast.runtime.attempts.attempt import Fate
from holdfast.runtime.attempts.outcome import event_of
from holdfast.secrecy import keep_secret
from holdfast.testing import Script, run_inline
from holdfast.testing.clock import START
from tests.runtime.attempts.samples import attempt_of
from tests.runtime.crew import Crew, pipeline_of


def event_of_value(value, handler=lambda job: None):
    return event_of(attempt_of(handler), value, None, now=START)


def event_of_error(error, **options):
    return event_of(attempt_of(lambda job: None, **options), None, error, now=START)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (0, "0"),
        ("é", '"é"'),
        ({"a": (1, 2.5, True)}, '{"a":[1,2.5,true]}'),
    ],
)
def test_a_value_becomes_the_result(value, text):
    assert event_of_value(value) == Done(text)


class Spiteful:
    def __iter__(self):
        raise RuntimeError("no")

    def __len__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [
        object(),
        socket.AF_INET.__class__,
        Spiteful(),
        UserDict(a=1),
        {1, 2},
        b"bytes",
        float("nan"),
        float("inf"),
        {1: "a number as key"},
        "\ud800",
        "\x00",
        10**5000,
        "x" * 20_000_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_result_that_cannot_be_stored_is_a_failure_that_is_not_retried(value):
    event = event_of_value(value)

    assert isinstance(event, Failed)
    assert (event.failure.error_class, event.failure.retryable) == ("RESULT_INVALID", False)
    assert len(event.failure.message) <= MAX_MESSAGE_LENGTH


def test_a_result_nested_without_end_is_a_failure():
    circle: list = []
    circle.append(circle)

    assert event_of_value(circle).failure.error_class == "RESULT_INVALID"


def test_a_result_that_is_not_of_the_declared_type_is_a_failure():
    def handler(job) -> int: ...

    assert event_of_value("many", handler).failure.error_class == "RESULT_INVALID"
    assert event_of_value(None, handler).failure.error_class == "RESULT_INVALID"
    assert event_of_value(3, handler) == Done("3")


def test_a_wait_suspends_the_stage():
    assert event_of_value(Wait()) == Suspended(None)
    assert event_of_value(Wait(timeout=1.5)) == Suspended(START + 1_500_000)


def test_a_handler_postpones_itself():
    assert event_of_error(RetryLater(after=2, reason="busy")) == Snoozed(2_000_000, "busy")


def test_giving_up_is_a_failure_with_the_handlers_own_word():
    event = event_of_error(GiveUp("NO_SUCH_FILE", "it is gone"))

    assert event.failure.error_class == "NO_SUCH_FILE"
    assert not event.failure.retryable


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(1), GeneratorExit()]
)
def test_a_handler_that_stops_itself_has_failed(error):
    failure = event_of_error(error).failure

    assert (failure.error_class, failure.retryable) == ("HANDLER_STOPPED", True)
    assert failure.exception_type == type(error).__name__ or "CancelledError" in failure.stack


def test_the_rules_of_a_stage_go_before_those_of_the_engine():
    rule = Rule(TimeoutError, Verdict("TOO_SLOW", retryable=False))

    assert event_of_error(TimeoutError(), rules=[rule]).failure.error_class == "TOO_SLOW"
    assert event_of_error(TimeoutError()).failure.error_class == "NETWORK_TIMEOUT"


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(), RetryLater(after=1)])
def test_whatever_a_stopped_handler_raises_comes_from_being_stopped(error):
    attempt = attempt_of(lambda job: None)
    attempt.fate = Fate.SHUT_DOWN
    assert event_of(attempt, None, error, now=START) == Interrupted()

    attempt.fate = Fate.TIMED_OUT
    assert event_of(attempt, None, error, now=START).failure.error_class == "STAGE_TIMEOUT"

    attempt.fate = Fate.LOST
    assert event_of(attempt, None, error, now=START) is None
    assert event_of(attempt, "value", None, now=START) is None


@pytest.mark.parametrize("fate", [Fate.SHUT_DOWN, Fate.TIMED_OUT])
def test_what_was_finished_in_spite_of_being_stopped_counts(fate):
    attempt = attempt_of(lambda job: None)
    attempt.fate = fate

    assert event_of(attempt, 1, None, now=START) == Done("1")


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")

    __repr__ = __str__


def cyclic() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


ODD_ERRORS = {
    "whose str raises": Mute(),
    "with a message of ten megabytes": ValueError("x" * 10_000_000),
    "with causes in a circle": cyclic(),
    "that is a group": ExceptionGroup("several", [ValueError("a"), Mute()]),
    "with NUL and surrogates": ValueError("\x00\ud800"),
    "with a terminal escape": ValueError("\x1b[31mred"),
}


@pytest.mark.parametrize("name", ODD_ERRORS)
def test_every_exception_makes_a_complete_record_in_the_database(open_app, name):
    app = open_app(pipeline_of(Script(ODD_ERRORS[name]), retry=Retry(attempts=1)))
    job = app.submit("p")
    run_inline(app)

    view = job.get()
    assert view.state is JobState.FAILED
    failure = Failure.from_document(view.error)
    assert failure.message
    assert len(failure.message) <= MAX_MESSAGE_LENGTH
    assert failure.exception_type
    assert "\x1b" not in failure.message
    assert json.dumps(app.history(job.id)[-1].to_document())


def garble(app, job, payload: str) -> None:
    sqlite = app.store.url.startswith("sqlite")
    table, mark = ("holdfast_job", "?") if sqlite else ("holdfast.job", "%s")
    with app.store.transaction() as connection:
        connection.execute(
            f"update {table} set payload = {mark} where id = {mark}", (payload, job.id)
        )


@pytest.mark.parametrize("payload", ["not json", "", "[" * 100_000, '{"n": 1e999}', "[1]"])
def test_a_payload_that_cannot_be_read_fails_its_job_and_no_other(open_app, payload):
    pipeline = Pipeline("p")

    @pipeline.stage
    def count(job, n: int):
        return n

    app = open_app(pipeline)
    bad, good = app.submit(pipeline, {"n": 1}), app.submit(pipeline, {"n": 2})
    garble(app, bad, payload)
    run_inline(app)

    error = app.store.get([bad.id])[bad.id].error
    assert json.loads(error)["error_class"] == "PAYLOAD_INVALID"
    assert good.get().result == 2


def test_a_handler_may_still_look_at_a_job_whose_payload_is_garbage(open_app):
    app = open_app(pipeline_of(Script(lambda job: job.id)))
    job = app.submit("p")
    garble(app, job, "not json")
    run_inline(app)

    assert app.store.get([job.id])[job.id].state is JobState.COMPLETE


def test_a_checkpoint_that_cannot_be_read_fails_its_job(open_app):
    app = open_app(pipeline_of(Script("a"), Script(lambda job: job.results["one"])))
    job = app.submit("p")
    Crew(app, stages=["one"]).work()
    table = "holdfast_checkpoint" if app.store.url.startswith("sqlite") else "holdfast.checkpoint"
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set result = 'not json'")
    run_inline(app)

    assert job.get().error["error_class"] == "RESULT_INVALID"


def test_a_job_that_cannot_be_read_can_be_shown(open_app):
    app = open_app(pipeline_of(Script()))
    job = app.submit("p")
    garble(app, job, "not json")

    assert job.get().payload == "not json"
    assert job.get().to_document()["payload"] == "not json"


SECRET = "Wq7-of-the-outcome-3Lz"


@pytest.fixture
def knows_a_secret():
    keep_secret([SECRET])


def test_the_reason_of_a_postponement_holds_no_secret(knows_a_secret):
    for before in (0, MAX_MESSAGE_LENGTH - 10):
        event = event_of_error(RetryLater(after=1, reason="x " * (before // 2) + SECRET + "."))

        assert isinstance(event, Snoozed)
        assert SECRET[:6] not in event.reason


@pytest.mark.parametrize(
    "value",
    [f"{SECRET}\0", {SECRET: "\0"}, {SECRET: {"a" * 190: object()}}, "x" * 190 + f"{SECRET}\0"],
    ids=["text", "key", "path", "across a limit"],
)
def test_what_is_wrong_with_a_result_is_told_without_secrets(value, knows_a_secret):
    event = event_of_value(value)

    assert event.failure.error_class == "RESULT_INVALID"
    assert SECRET[:6] not in event.failure.text


def test_whatever_a_serializer_raises_is_a_failure_without_secrets(knows_a_secret):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError(SECRET)

    for error in (ValueError(f"cannot write {SECRET}"), Mute(SECRET)):
        attempt = attempt_of(lambda job: None)
        attempt.bound = replace(attempt.bound, encode=Script(error).handler)

        event = event_of(attempt, 1, None, now=START)

        assert event.failure.error_class == "RESULT_INVALID"
        assert SECRET not in event.failure.text
        assert event.failure.exception_type.endswith(type(error).__name__)
