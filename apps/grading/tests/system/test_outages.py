"""What each side does while its database is away, and after the broker has lost a queue."""

import json
import logging
import threading
from pathlib import Path

import pytest

from apps.grading.tests.brokered import broker_config, grader_running, main_running
from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import REFUSED, ScriptedAssessor, scripted_tools
from grading.llm import LLM_RULES
from holdfast import JobFilter, JobState
from holdfast.testing.postgres.server import PrivatePostgres
from tests.bridges.broker import delete, drained

pytestmark = pytest.mark.timeout(180)


class HeldAssessor(ScriptedAssessor):
    """An assessor that answers once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def assess(self, *given, **named):
        raw = super().assess(*given, **named)
        self.let.wait(60)
        return raw


@pytest.mark.slow
def test_callbacks_wait_in_the_broker_while_mains_database_is_away(
    postgres_server: PrivatePostgres,
    tmp_path: Path,
    amqp_url: str,
    caplog: pytest.LogCaptureFixture,
):
    config = broker_config(amqp_url, tmp_path)
    dead = f"{config.queue_prefix}grading.callback.dead"
    assessor = HeldAssessor()
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    with (
        caplog.at_level(logging.WARNING, "holdfast.consumer"),
        main_running(postgres_server.url, config) as main,
        grader_running(graders, config, scripted_tools(assessor)) as grader,
    ):
        ids = [main.submit(owner=f"o{number}") for number in range(4)]
        wait_for(lambda: len(assessor.calls) == 4, what="every call")
        postgres_server.stop("immediate")
        assessor.let.set()
        wait_for(lambda: _completed(grader) == 4, what="the grader's results")
        wait_for(lambda: not grader.outbox.standing().pending, what="the callbacks are published")
        wait_for(lambda: _held_up(caplog) >= 2, limit_s=60, what="callbacks that are held up")
        dead_meanwhile = drained(amqp_url, dead)
        postgres_server.start()
        views = [main.ended(each) for each in ids]
        counted = [
            [line.event for line in main.app.history(each)].count("completed") for each in ids
        ]

    assert dead_meanwhile == []
    assert {view.status for view in views} == {"COMPLETED"}
    assert counted == [1, 1, 1, 1]
    assert drained(amqp_url, dead) == []
    assert len(assessor.calls) == 4


def _completed(grader) -> int:
    return grader.count(JobFilter((JobState.COMPLETE,), "grade"))


def _held_up(caplog: pytest.LogCaptureFixture) -> int:
    events = [getattr(record, "event", "") for record in caplog.records]
    return events.count("consumer_held_up")


def test_a_dead_letter_queue_that_was_deleted_is_declared_again_and_has_the_record(
    sqlite_url: str, tmp_path: Path, amqp_url: str
):
    config = broker_config(amqp_url, tmp_path)
    queue = f"{config.queue_prefix}grading.dlq"
    assessor = ScriptedAssessor()
    assessor.script = [REFUSED, REFUSED]
    found = []
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    with (
        grader_running(graders, config, scripted_tools(assessor, rules=LLM_RULES)) as grader,
        main_running(sqlite_url, config) as main,
    ):
        first = main.ended(main.submit(owner="o1"))
        delete(amqp_url, queues=(queue,))
        second = main.submit(owner="o2")
        view = main.ended(second)
        wait_for(lambda: not grader.outbox.standing().pending, what="the record is published")
        found = drained(amqp_url, queue)
        failed = grader.outbox.standing().failed
    records = [json.loads(each.body) for each in found]

    assert (first.failure_reason, view.failure_reason) == ("CONTENT_POLICY", "CONTENT_POLICY")
    assert [record["submissionId"] for record in records] == [second]
    assert failed == 0
