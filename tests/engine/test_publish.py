"""Publishing: in one's own transaction, and with the result of a stage."""

import json
import sqlite3
import time
from contextlib import closing

import psycopg
import pytest

from holdfast import Holdfast, JobState
from holdfast.core.values.document import DEFAULT_LIMITS
from holdfast.core.values.outbox import OutboxMessage, OutboxStatus
from holdfast.errors import ConflictError, InvalidDocument, InvalidValue, UnknownMessage, UsageError
from holdfast.store.tables.outbox import OutboxFilter
from holdfast.testing.inline import run_inline
from tests.engine import publishing_app

PIPELINES = [
    publishing_app.on_loop,
    publishing_app.in_thread,
    publishing_app.in_process,
    publishing_app.fails_first,
    publishing_app.greedy,
]


@pytest.fixture
def app(database_url: str):
    with Holdfast(database_url, pipelines=PIPELINES) as app:
        yield app


def everything(app: Holdfast) -> list[OutboxMessage]:
    """All messages, oldest first."""
    return app.outbox.find()[::-1]


def test_a_message_is_pending_as_it_was_published(app: Holdfast):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = app.publish("grading.request", {"n": [1, None, "č"]}, aggregate_id="s-1", trace=trace)

    message = app.outbox.get(sent)
    assert json.loads(message.payload) == {"n": [1, None, "č"]}
    assert (message.message_type, message.aggregate_id) == ("grading.request", "s-1")
    assert (message.trace, message.status) == (trace, OutboxStatus.PENDING)


def test_a_message_without_an_aggregate_is_one_of_its_own(app: Holdfast):
    first, second = app.publish("note"), app.publish("note")

    assert first < second
    assert [message.aggregate_id for message in everything(app)] == [first, second]


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("message_type", {"message_type": ""}),
        ("message_type", {"message_type": "a\nb"}),
        ("message_type", {"message_type": "č" * 128}),
        ("message_type", {"message_type": 7}),
        ("aggregate_id", {"message_type": "note", "aggregate_id": "x" * 256}),
        ("trace", {"message_type": "note", "trace": "\x00"}),
    ],
)
def test_what_no_broker_could_take_is_refused_and_not_stored(app: Holdfast, field, arguments):
    with pytest.raises(InvalidValue, match=f"publish: {field} is .* 1 to 255 bytes"):
        app.publish(**arguments)
    assert everything(app) == []


@pytest.mark.parametrize("payload", [float("nan"), {"a": object()}, "x" * DEFAULT_LIMITS.max_bytes])
def test_what_is_no_json_or_too_large_is_refused_and_not_stored(app: Holdfast, payload):
    with pytest.raises(InvalidDocument, match="message"):
        app.publish("note", payload)
    assert everything(app) == []


def test_in_the_callers_own_transaction_it_exists_if_that_commits(app: Holdfast, database_url):
    app.store.migrate()
    if database_url.startswith("sqlite"):
        opened = closing(sqlite3.connect(database_url.removeprefix("sqlite:///")))
    else:
        opened = closing(psycopg.connect(database_url))
    with opened as connection:
        connection.execute("create table theirs (n integer)")
        connection.commit()
        kept = app.publish("note", 1, connection=connection)
        connection.execute("insert into theirs values (1)")
        connection.commit()
        app.publish("note", 2, connection=connection)
        connection.execute("insert into theirs values (2)")
        connection.rollback()

        assert connection.execute("select n from theirs").fetchall() == [(1,)]
    assert [message.id for message in everything(app)] == [kept]


def test_something_that_is_no_connection_is_refused(app: Holdfast):
    with pytest.raises(UsageError, match="connection is a str"):
        app.publish("note", connection="this one")


@pytest.mark.parametrize("pipeline", PIPELINES[:3], ids=lambda pipeline: pipeline.name)
def test_what_a_stage_publishes_is_stored_with_its_result(app: Holdfast, pipeline):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    job = app.submit(pipeline, {"n": 5}, trace=trace)
    worker = app.worker()
    worker.start()
    until = time.monotonic() + 30
    while app.job(job.id).state is not JobState.COMPLETE:
        assert time.monotonic() < until
        time.sleep(0.01)
    worker.request_stop()
    worker.drain()

    first, second = everything(app)
    assert json.loads(first.payload) == {"n": 5, "part": 1}
    assert json.loads(second.payload) == {"n": 5, "part": 2}
    assert (first.aggregate_id, second.aggregate_id) == (job.id, "other")
    assert {first.trace, second.trace} == {trace}
    assert first.created_at == second.created_at == app.job(job.id).job.finished_at
    assert app.verify() == []


def test_an_attempt_that_fails_publishes_nothing(app: Holdfast):
    app.submit("fails-first", {"n": 1})
    run_inline(app)

    assert [json.loads(message.payload) for message in everything(app)] == [{"attempt": 2}]
    app.submit("fails-first", {"n": 0})
    run_inline(app)
    assert len(everything(app)) == 1


def test_what_is_wrong_with_a_message_fails_the_attempt_that_made_it(app: Holdfast):
    job = app.submit("greedy", {"n": 1_001})
    run_inline(app)

    view = app.job(job.id)
    assert view.state is JobState.FAILED
    assert "at most 1000 in one attempt" in view.error["message"]
    assert everything(app) == []


def test_messages_are_found_by_filter(app: Holdfast):
    sent = [app.publish(f"type.{number % 2}", aggregate_id=f"a{number}") for number in range(4)]

    def found(**wanted) -> list[str]:
        return [message.id for message in app.outbox.find(OutboxFilter(**wanted))]

    assert found(message_type="type.1") == [sent[3], sent[1]]
    assert found(aggregate_id="a2") == [sent[2]]
    assert [message.id for message in app.outbox.find(before=sent[1], limit=1)] == [sent[0]]
    with pytest.raises(InvalidValue, match="limit"):
        app.outbox.find(limit=0)
    with pytest.raises(UnknownMessage, match="check the id"):
        app.outbox.find(before="nowhere")


def test_a_message_that_waits_can_be_tried_at_once(app: Holdfast):
    sent = app.publish("note")

    assert app.outbox.retry(sent, by="ada").status is OutboxStatus.PENDING
    now = app.clock.now()
    app.store.outbox.claim(holder="relay", limit=1, lease_us=60_000_000, now=now)
    with pytest.raises(ConflictError, match="being sent by a relay"):
        app.outbox.retry(sent, by="ada")
    with pytest.raises(UnknownMessage):
        app.outbox.retry("nowhere", by="ada")


def test_a_message_of_the_callers_own_id_is_stored_once(app: Holdfast):
    own = "6F1C7A54-9B0E-4E8B-A7CF-0D8C6F3B2A11"

    first = app.publish("note", 1, message_id=own, aggregate_id="a")
    again = app.publish("memo", 2, message_id=own.lower())

    assert first == again == own.lower()
    (kept,) = everything(app)
    assert (kept.id, kept.message_type, kept.payload) == (own.lower(), "note", "1")


@pytest.mark.parametrize("given", ["", "42", "not-a-uuid", 7])
def test_an_id_that_is_no_uuid_is_refused(app: Holdfast, given):
    with pytest.raises(InvalidValue, match=r"message_id.*a UUID"):
        app.publish("note", 1, message_id=given)
    assert everything(app) == []
