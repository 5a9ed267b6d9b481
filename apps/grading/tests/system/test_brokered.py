import json
from pathlib import Path

import aio_pika

from apps.grading.tests.brokered import broker_config, grader_running, main_running, publish
from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import ScriptedAssessor, completed, scripted_tools
from grading.config import GradingConfig
from grading.messages.contract import CALLBACK
from grading.messages.validation import read_request
from holdfast import JobFilter
from tests.bridges.broker import drained, on_channel


def test_both_sides_share_nothing_but_the_broker(sqlite_url: str, tmp_path: Path, amqp_url: str):
    config = broker_config(amqp_url, tmp_path)
    assessor = ScriptedAssessor()
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    with (
        grader_running(graders, config, scripted_tools(assessor)) as grader,
        main_running(sqlite_url, config) as main,
    ):
        submission_id = main.submit()
        view = main.ended(submission_id)
        operations = main.submissions.operations().document()
        jobs = (main.app.jobs(JobFilter()), grader.jobs(JobFilter()))

    assert (view.status, view.result["grader"]) == ("COMPLETED", "scripted")
    assert [[job.job.pipeline for job in each] for each in jobs] == [["submission"], ["grade"]]
    assert len(assessor.calls) == 1
    assert operations["broker"] == {"connected": True}
    assert operations["grader"]["lastSeenAt"] is not None


def test_poison_becomes_records_and_does_not_loop(sqlite_url: str, tmp_path: Path, amqp_url: str):
    config = broker_config(amqp_url, tmp_path)
    queue = f"{config.queue_prefix}grading.dlq"
    found = []
    with grader_running(sqlite_url, config, scripted_tools()) as grader:
        wait_for(lambda: _has_queue(amqp_url, queue), what="the queues")
        publish(amqp_url, config, b"no json", message_id="p1")
        publish(amqp_url, config, json.dumps({"schemaVersion": 1}).encode(), message_id="p2")
        wait_for(lambda: found.extend(drained(amqp_url, queue)) or len(found) == 2)
        jobs = grader.jobs(JobFilter())
    records = {
        record["stage"] + str(sorted(record)): record
        for record in (json.loads(each.body) for each in found)
    }

    assert {record["failureReason"] for record in records.values()} == {"INVALID_SCHEMA"}
    assert {record.get("originalText") for record in records.values()} == {None, "no json"}
    assert jobs == []


def _has_queue(amqp_url: str, queue: str) -> bool:
    async def look(channel) -> bool:
        await channel.declare_queue(queue, passive=True)
        return True

    try:
        return on_channel(amqp_url, look)
    except aio_pika.exceptions.AMQPError:
        return False


def test_a_request_on_the_wire_has_the_properties_of_the_contract(
    sqlite_url: str, tmp_path: Path, amqp_url: str
):
    config = broker_config(amqp_url, tmp_path)
    queue = f"{config.queue_prefix}grading.request"
    found = []
    with main_running(sqlite_url, config) as main:
        main.submit()
        wait_for(lambda: _has_queue(amqp_url, queue), what="the queue")
        wait_for(lambda: found.extend(drained(amqp_url, queue)) or found, what="the request")
    [sent] = found
    body = json.loads(sent.body)

    assert (sent.type, sent.content_type, sent.content_encoding) == (
        "grading.request",
        "application/json",
        "utf-8",
    )
    assert sent.delivery_mode == aio_pika.DeliveryMode.PERSISTENT
    assert sent.message_id
    assert sent.timestamp is not None
    assert sent.correlation_id == body["callbackToken"]
    assert read_request(body).attempt == 1


def test_a_forged_callback_is_a_dead_letter_with_its_reason_and_others_go_on(
    sqlite_url: str, tmp_path: Path, amqp_url: str
):
    config = broker_config(amqp_url, tmp_path)
    dead = f"{config.queue_prefix}grading.callback.dead"
    found = []
    with main_running(sqlite_url, config) as main:
        wait_for(lambda: _has_queue(amqp_url, dead), what="the queues")
        first, second = main.submit(owner="o1"), main.submit(owner="o2")
        requests = _requests(amqp_url, config, 2)
        forged = completed(requests[first], callbackToken=requests[second]["callbackToken"])
        for body in (forged, completed(requests[second])):
            publish(amqp_url, config, json.dumps(body).encode(), message_type=CALLBACK)
        view = main.ended(second)
        wait_for(lambda: found.extend(drained(amqp_url, dead)) or found, what="the dead letter")
        untouched = main.submissions.get(first, owner=None).status
    [letter] = found

    assert view.status == "COMPLETED"
    assert untouched == "PENDING"
    assert json.loads(letter.body) == forged
    assert "CALLBACK_REFUSED" in str(letter.headers)


def _requests(amqp_url: str, config: GradingConfig, count: int) -> dict[str, dict]:
    """Return the requests that main has published, by submission."""
    found: dict[str, dict] = {}

    def read() -> bool:
        for each in drained(amqp_url, f"{config.queue_prefix}grading.request"):
            body = json.loads(each.body)
            found[body["submissionId"]] = body
        return len(found) == count

    wait_for(read, what="the requests")
    return found
