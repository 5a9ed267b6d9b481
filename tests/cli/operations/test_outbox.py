import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue, dead_exchange
from holdfast.core.values.outbox import RELAY_RETRY, OutboxStatus, Unsendable, decide_publish
from tests.bridges.broker import delete, drained, on_channel, own
from tests.cli.conftest import Command, error_of, lines
from tests.warm.process import WarmProcess

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


def given_up(app: Holdfast, message_id: str) -> None:
    """Bring a message to the state of one that was given up."""
    rows, now = app.store.outbox, app.clock.now()
    messages = rows.claim(holder="relay", limit=1, lease_us=1_000_000, now=now)
    assert [message.id for message in messages] == [message_id]
    decided = [
        decide_publish(message, Unsendable("too large"), RELAY_RETRY, now, 0.5)
        for message in messages
    ]
    rows.mark(decided, holder="relay", lease_until=messages[0].lease_until)


def test_messages_are_listed_newest_first_with_how_many_wait(on_app: Command, app: Holdfast):
    first = app.publish("grading.request", {"n": 1}, aggregate_id="s-1")
    given_up(app, first)
    second = app.publish("grading.request", {"n": 2}, aggregate_id="s-2")

    result = on_app("outbox", "list")
    as_json = lines(on_app("outbox", "list", "--json").stdout)

    heading, newest, oldest = result.stdout.splitlines()
    assert heading.split() == ["ID", "TYPE", "AGGREGATE", "STATUS", "TRIES", "AGE"]
    assert newest.split()[:5] == [second, "grading.request", "s-2", "pending", "0"]
    assert oldest.split()[:5] == [first, "grading.request", "s-1", "failed", "1"]
    assert "too large" in oldest
    assert result.stderr.startswith("1 pending, the oldest for ")
    assert result.stderr.endswith("; 1 given up.\n")
    assert [(line["id"], line["status"], line["payload"]) for line in as_json] == [
        (second, "pending", {"n": 2}),
        (first, "failed", {"n": 1}),
    ]


def test_messages_are_listed_by_filter_and_page(on_app: Command, app: Holdfast):
    sent = [app.publish(f"type.{number % 2}", aggregate_id="a") for number in range(4)]

    def listed(*arguments: str) -> list[str]:
        return [line["id"] for line in lines(on_app("outbox", "list", "--json", *arguments).stdout)]

    assert listed("--limit", "2") == [sent[3], sent[2]]
    assert listed("--limit", "2", "--before", sent[2]) == [sent[1], sent[0]]
    assert listed("--type", "type.1") == [sent[3], sent[1]]
    assert listed("--aggregate", "b") == []
    assert listed("--status", "published") == []
    assert on_app("outbox", "list", "--status", "lost").exit_code == 2


def test_a_message_is_shown_with_its_payload(on_app: Command, app: Holdfast):
    message = app.publish("grading.request", {"text": "čaj"}, aggregate_id="s-1")

    shown = on_app("outbox", "show", message).stdout
    as_json = json.loads(on_app("outbox", "show", message, "--json").stdout)

    assert "a relay has yet to take it" in shown
    assert '{"text":"čaj"}' in shown.replace(" ", "") or '{"text": "čaj"}' in shown
    assert as_json["message_type"] == "grading.request"
    given_up(app, message)
    assert f"holdfast outbox retry {message}" in on_app("outbox", "show", message).stdout


def test_a_message_that_is_not_there_is_not_found(on_app: Command, app: Holdfast):
    for command in ("show", "retry"):
        result = on_app("outbox", command, "nowhere", "--json")
        assert result.exit_code == 3
        assert error_of(result)["code"] == "unknown_message"


def test_a_message_that_was_given_up_is_tried_again(on_app: Command, app: Holdfast):
    message = app.publish("grading.request")
    given_up(app, message)

    said = on_app("outbox", "retry", message, "--by", "ada", "--reason", "limit raised")

    assert said.stdout == f"Message {message} is tried again.\n"
    assert app.outbox.get(message).status is OutboxStatus.PENDING
    (entry,) = app.store.audit.latest(subject_kind="message")
    assert (entry.done_by, entry.action, entry.reason) == ("ada", "retried", "limit raised")


def test_a_message_that_a_relay_has_is_left_to_it(on_app: Command, app: Holdfast):
    message = app.publish("grading.request")
    app.store.outbox.claim(holder="relay", limit=1, lease_us=60_000_000, now=app.clock.now())

    result = on_app("outbox", "retry", message)

    assert result.exit_code == 4
    assert "being sent by a relay" in result.stderr


def test_all_that_were_given_up_are_tried_again_when_somebody_agrees(
    on_app: Command, app: Holdfast
):
    for number in range(3):
        given_up(app, app.publish(f"type.{number % 2}"))

    refused = on_app("outbox", "retry", "--failed")
    assert refused.exit_code == 2
    assert "3 messages" in refused.stderr

    some = on_app("outbox", "retry", "--failed", "--type", "type.0", "--yes", "--json")
    assert len(lines(some.stdout)) == 2
    on_app("outbox", "retry", "--failed", "--yes")
    assert app.outbox.standing().failed == 0
    assert "No message" in on_app("outbox", "retry", "--failed", "--yes").stderr
    assert on_app("outbox", "retry").exit_code == 2


def test_a_relay_without_a_broker_says_what_is_missing(on_app: Command):
    result = on_app("relay")

    assert result.exit_code == 2
    assert "HOLDFAST_BROKER_URL" in result.stderr


@pytest.mark.parametrize("value", ["http://host/", "amqp://", "amqp://host:port/", "guest"])
def test_a_broker_that_is_none_is_refused_and_not_quoted(on_app: Command, value):
    result = on_app("relay", "--broker-url", value)

    assert result.exit_code == 2
    assert "like amqp://" in result.stderr


@pytest.mark.timeout(200)
def test_a_relay_that_meets_an_exchange_made_otherwise_ends_with_its_name(
    on_app: Command, amqp_url: str
):
    exchange = own("exchange")

    async def predeclare(channel):
        await channel.declare_exchange(exchange, "fanout", durable=True)

    on_channel(amqp_url, predeclare)

    result = on_app("relay", "--broker-url", amqp_url, "--exchange", exchange)

    assert result.exit_code == 2
    assert f"'{exchange}'" in result.stderr
    assert "made otherwise: type differs" in result.stderr
    delete(amqp_url, exchanges=(exchange,))


@pytest.mark.timeout(200)
def test_a_relay_publishes_until_it_is_told_to_stop(app: Holdfast, database_url, amqp_url):
    exchange, queue = own("exchange"), Queue(name=own("queue"), types=("#",))
    declaring = RabbitMq(amqp_url, exchange=exchange, queues=[queue])
    assert declaring.ready() is None
    declaring.close()
    of_another_relay = app.publish("note", {"n": 0})
    first = app.publish("grading.request", {"n": 1, "callback_token": "t.s"})

    process = WarmProcess(
        [
            *(sys.executable, "-m", "holdfast", "relay", "--json"),
            *("--database-url", database_url, "--exchange", exchange, "--reply-to", "replies"),
            *("--without-types", "memo, note"),
        ],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HOLDFAST_BROKER_URL": amqp_url,
            "OUTBOX_BATCH_SIZE": "7",
            "OUTBOX_POLL_INTERVAL_MS": "60000",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until_published(app, first)
        # Its interval is a minute: that it comes now is due to the announcement.
        wait_until_published(app, app.publish("grading.request", {"n": 2}))
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 0, errors
    assert json.loads(output)["clean"] is True
    started = next(line for line in map(json.loads, errors.splitlines()) if "batch_size" in line)
    assert started["batch_size"] == 7
    received = drained(amqp_url, queue.name)
    assert [json.loads(got.body)["n"] for got in received] == [1, 2]
    assert [got.reply_to for got in received] == ["replies", None]
    assert app.outbox.get(of_another_relay).status is OutboxStatus.PENDING
    delete(
        amqp_url,
        queues=(queue.name, queue.dead_queue),
        exchanges=(exchange, dead_exchange(exchange)),
    )


def wait_until_published(app: Holdfast, message_id: str) -> None:
    until = time.monotonic() + PATIENCE_S / 2
    while app.outbox.get(message_id).status is not OutboxStatus.PUBLISHED:
        assert time.monotonic() < until, app.outbox.get(message_id)
        time.sleep(0.02)
