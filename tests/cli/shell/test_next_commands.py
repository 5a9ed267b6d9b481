"""Commands stand in what the command line says, and in no error of the engine or of the API."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import holdfast
from holdfast import errors
from holdfast.cli.shell.next_commands import sentence_of
from holdfast.core.dead_letter.dead_letter import Step
from holdfast.core.job.access import RetryBy
from holdfast.engine.dead_letters.steps import _HOW

SOURCE = Path(holdfast.__file__).parent
A_COMMAND = re.compile(
    r"\bholdfast (-A|migrate|submit|up|worker|relay|dispatch|herald|purge|verify|doctor|config|"
    r"(jobs|dead|outbox|deliveries|tokens|workers|queues|upstreams) [a-z]+)\b"
    r"|(?<!\w)--(safe-to-repeat|unreplayed|redact)\b"
)
MAY_NAME_COMMANDS = (
    "cli/",
    "lab/",
    "views/explain/",  # commands of sentences, shown by commands alone
    "engine/attention/",  # the same
    "console/first_steps.py",  # a page for people in front of an empty shell
    "runtime/outbox/relay.py",  # a log line
    "systems/knobs.py",  # a remark of the doctor
    "api/docs/openapi.py",  # documentation
    "bridges/rabbitmq/publisher.py",  # what the broker calls the connection of a relay
)


def named_commands(file: Path) -> list[str]:
    """Return the texts of a file that name a command, docstrings aside."""
    source = file.read_text("utf-8")
    if not A_COMMAND.search(source):
        return []
    tree = ast.parse(source)
    documented = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documented
        and A_COMMAND.search(node.value)
    ]


def test_no_error_of_the_engine_and_no_answer_of_the_api_names_a_command():
    files = {str(file.relative_to(SOURCE)): file for file in SOURCE.rglob("*.py")}
    found = {
        name: named_commands(file)
        for name, file in files.items()
        if not name.startswith(MAY_NAME_COMMANDS)
    }

    assert len(found) > 300
    assert {name: texts for name, texts in found.items() if texts} == {}


def missing(step: Step) -> errors.StepMissing:
    return errors.StepMissing(
        "L1", action="replay", state="open", missing=step.value, how=_HOW[step]
    )


def test_commands_say_what_to_type_next():
    closed = {"retry_by": RetryBy.WORKFLOW, "reason": "no", "how": "its letter says"}
    expected = {
        errors.UnknownMessage("m"): "holdfast outbox list",
        errors.UnknownReplay("r"): "holdfast dead replays",
        errors.UnknownDelivery("d"): "holdfast deliveries list",
        errors.UnknownWorker("w"): "holdfast workers list",
        errors.UnknownToken("t"): "holdfast tokens list",
        errors.UnknownLetter("l"): "holdfast dead list",
        errors.SchemaTooOld(found=1, needed=2): "holdfast migrate",
        errors.SchemaMissing("sqlite:///x"): "holdfast migrate",
        errors.PipelineNeeded("p", job_id="j"): "-A",
        errors.RetryRefused("j", reason="no", needs_pipeline="p"): "-A",
        errors.RetryNotAllowed("p", **closed, job_id="J1"): "holdfast dead show J1",
        errors.RetryNotAllowed("p", **closed): "holdfast dead groups",
        missing(Step.TRIAGE): "holdfast dead triage L1 --cause",
        missing(Step.REMEDIATE): "holdfast dead remediate L1 --evidence",
        missing(Step.SAFE_TO_REPEAT): "--safe-to-repeat",
        missing(Step.DELIVERIES): "holdfast deliveries list --job L1 --state unknown",
        missing(Step.REPLAY): "holdfast dead replay L1",
        missing(Step.COMPLETION): "holdfast jobs show L1",
    }

    assert [
        str(error)
        for error, command in expected.items()
        if not sentence_of(error).startswith(f"{error}; ") or command not in sentence_of(error)
    ] == []


def test_where_there_is_nothing_to_type_a_command_says_what_the_error_says():
    by_operators = errors.RetryNotAllowed(
        "p", retry_by=RetryBy.OPERATOR, reason="no", how="ask one", job_id="j"
    )
    for error in (errors.QueueFull("q", limit=1), by_operators, missing(Step.NOTE)):
        assert sentence_of(error) == str(error)
