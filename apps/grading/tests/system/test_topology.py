"""Exchanges and queues that others have declared, and what moves dead-letter records."""

import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from apps.grading.tests.brokered import broker_config, grader_running, main_running, publish
from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import REFUSED, ScriptedAssessor, scripted_tools
from grading.cli import main as program
from grading.config import GradingConfig
from grading.llm import LLM_RULES
from holdfast.dead_letters import LetterFilter, LetterView
from tests.bridges.broker import drained, on_channel

pytestmark = pytest.mark.timeout(180)
QUEUES = ("grading.request", "grading.callback", "grading.dlq")
DEAD = ("grading.request.dead", "grading.callback.dead")


def declared_by_others(
    amqp_url: str, config: GradingConfig, *, without: str | None = None, only: str | None = None
) -> None:
    """Declare everything with arguments of somebody else's."""

    async def declare(channel) -> None:
        exchange = await channel.declare_exchange(config.exchange, "direct", durable=True)
        dead = await channel.declare_exchange(f"{config.exchange}.dead", "topic", durable=True)
        for name in (*QUEUES, *DEAD):
            if name == without or (only is not None and name != only):
                continue
            queue = await channel.declare_queue(
                f"{config.queue_prefix}{name}", durable=True, arguments={"x-max-length": 5_000}
            )
            if name in QUEUES:
                await queue.bind(exchange, routing_key=name)
            else:
                wanted = f"{config.queue_prefix}{name.removesuffix('.dead')}"
                await queue.bind(dead, routing_key=wanted)

    on_channel(amqp_url, declare)


@pytest.fixture
def foreign(amqp_url: str, tmp_path: Path) -> GradingConfig:
    return broker_config(amqp_url, tmp_path, exchange_type="direct", declares_topology=False)


@pytest.fixture
def topology(foreign: GradingConfig, monkeypatch: pytest.MonkeyPatch):
    """Runs `grading topology` with the names of the test."""
    for name, value in {
        "AMQP_URL": foreign.broker_url,
        "GRADING_EXCHANGE": foreign.exchange,
        "GRADING_EXCHANGE_TYPE": "direct",
        "GRADING_QUEUE_PREFIX": foreign.queue_prefix,
    }.items():
        monkeypatch.setenv(name, value)

    def run(action: str):
        return CliRunner().invoke(program, ["topology", action], catch_exceptions=False)

    return run


def test_what_others_have_declared_is_used_as_it_is(
    sqlite_url: str, tmp_path: Path, amqp_url: str, foreign: GradingConfig, topology
):
    declared_by_others(amqp_url, foreign)
    checked, refused = topology("check"), topology("declare")
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    with (
        grader_running(graders, foreign, scripted_tools()),
        main_running(sqlite_url, foreign) as main,
    ):
        view = main.ended(main.submit())

    assert checked.exit_code == 0, checked.output
    assert refused.exit_code == 6
    assert foreign.queue_prefix in refused.stderr
    assert view.status == "COMPLETED"


def test_a_queue_that_others_have_not_declared_is_named_and_waited_for(
    sqlite_url: str, tmp_path: Path, amqp_url: str, foreign: GradingConfig, topology
):
    missing = f"{foreign.queue_prefix}grading.callback"
    declared_by_others(amqp_url, foreign, without="grading.callback")
    checked = topology("check")
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    with (
        grader_running(graders, foreign, scripted_tools()),
        main_running(sqlite_url, foreign) as main,
    ):
        submission_id = main.submit()
        wait_for(
            lambda: main.submissions.operations().broker_connected is False,
            what="that the broker cannot be used",
        )
        before = main.submissions.get(submission_id, owner=None).status
        declared_by_others(amqp_url, foreign, only="grading.callback")
        view = main.ended(submission_id)

    assert checked.exit_code == 6
    assert f"the queue '{missing}' is not there" in checked.stderr
    assert (before, view.status) == ("PENDING", "COMPLETED")


def test_records_reach_the_store_where_that_is_wanted_and_none_twice(
    sqlite_url: str, tmp_path: Path, amqp_url: str, caplog: pytest.LogCaptureFixture
):
    config = broker_config(amqp_url, tmp_path, consumes_dlq=True)
    assessor = ScriptedAssessor()
    assessor.script = [REFUSED]
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    with (
        caplog.at_level(logging.INFO, "grading.dlq"),
        grader_running(graders, config, scripted_tools(assessor, rules=LLM_RULES)) as grader,
        main_running(sqlite_url, config) as main,
    ):
        view = main.ended(main.submit())
        wait_for(lambda: "has its dead letter already" in caplog.text, what="the record is known")
        publish(amqp_url, config, b"no json", message_id="p1")

        def letters() -> list[LetterView]:
            return grader.dead.find(LetterFilter(), limit=10)

        wait_for(
            lambda: any("no json" in (each.letter.payload or "") for each in letters()),
            what="the poison reaches the store",
        )
        found = letters()
    left = drained(amqp_url, f"{config.queue_prefix}grading.dlq")

    assert view.failure_reason == "CONTENT_POLICY"
    assert sorted(each.letter.pipeline for each in found) == ["grade", "grading.dlq"]
    assert left == []
