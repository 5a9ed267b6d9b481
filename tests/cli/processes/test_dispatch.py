import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from aio_pika.exceptions import ChannelNotFoundEntity

from holdfast import Holdfast
from holdfast.bridges.rabbitmq.topology import dead_exchange
from tests.bridges.broker import delete, drained, on_channel, own
from tests.cli import sample_app
from tests.cli.conftest import Command
from tests.warm.process import WarmProcess

ROOT = Path(__file__).parents[3]
PATIENCE_S = 90.0


@pytest.mark.parametrize("command", ["dispatch", "herald"])
def test_a_dispatcher_without_a_broker_says_what_is_missing(on_app: Command, command: str):
    result = on_app(command)

    assert result.exit_code == 2
    assert "HOLDFAST_BROKER_URL" in result.stderr


@pytest.mark.timeout(200)
def test_a_dispatcher_that_meets_a_queue_made_otherwise_ends_with_its_name(
    on_app: Command, amqp_url: str
):
    exchange = own("shop")
    queue = f"{exchange}.reviews"

    async def predeclare(channel):
        await channel.declare_queue(queue, durable=True)

    on_channel(amqp_url, predeclare)

    result = on_app(
        "dispatch", "--broker-url", amqp_url, "--exchange", exchange, "--queues", "reviews"
    )

    assert result.exit_code == 2
    assert f"'{queue}'" in result.stderr
    assert "made otherwise" in result.stderr
    delete(
        amqp_url,
        queues=(queue, f"{queue}.dead"),
        exchanges=(exchange, dead_exchange(exchange)),
    )


@pytest.mark.timeout(300)
def test_a_dispatcher_sends_due_jobs_until_it_is_stopped(app: Holdfast, database_url, amqp_url):
    exchange = own("shop")
    queues = [f"{exchange}.default", f"{exchange}.reviews"]
    first = app.submit("convert", {"pdf": "a"})

    process = WarmProcess(
        [
            *(sys.executable, "-m", "holdfast", "dispatch", "--json", "--exchange", exchange),
            *("--app", "tests.cli.sample_app:make", "--poll", "10m"),
        ],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HOLDFAST_BROKER_URL": amqp_url,
            sample_app.URL_VARIABLE: database_url,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told: list[str] = []
    try:
        wait_until_told(amqp_url, queues[0], told, first.id)
        # It looks by itself every ten minutes: that it comes now is due to the announcement.
        second = app.submit("review")
        wait_until_told(amqp_url, queues[1], told, second.id)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 0, errors
    assert json.loads(output)["clean"] is True
    # What nobody takes for a while is told of again.
    assert list(dict.fromkeys(told)) == [first.id, second.id]
    delete(
        amqp_url,
        queues=(*queues, *(f"{queue}.dead" for queue in queues)),
        exchanges=(exchange, dead_exchange(exchange)),
    )


def wait_until_told(amqp_url: str, queue: str, told: list[str], job_id: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while job_id not in told:
        assert time.monotonic() < until, told
        with suppress(ChannelNotFoundEntity):  # the queue may not be declared yet
            for message in drained(amqp_url, queue):
                told.extend(json.loads(message.body)[1]["due"]["jobs"])
        time.sleep(0.05)
