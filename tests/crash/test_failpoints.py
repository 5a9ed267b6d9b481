"""The failpoints themselves: every effect has one on both sides, and each is really reached."""

import ast
import signal
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.bridges.rabbitmq import consumer as rabbitmq_consumer
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.failpoint import POINTS
from tests.crash.fleet import Fleet
from tests.crash.postbox import Postbox, posted_to
from tests.crash.sampling import JOB_POINTS, WORKER_POINTS, on_both_databases, slow
from tests.crash.verdict import (
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)

RUNTIME = Path(failpoint.__file__).parents[1]
CONSUMER = Path(rabbitmq_consumer.__file__)

WRITES = frozenset(
    {
        "claim",
        "renew",
        "apply",
        "insert",
        "insert_rerun",
        "save_plan",
        "pause_queue",
        "resume_queue",
        "announce_due",
        "record_worker",
        "forget_workers",
        "purge",
        "ensure",
        "told",
    }
)
"""The methods of a store that change something."""

UNDER = {
    ("worker/claimer.py", "_claim", "claim"): "claim",
    ("dispatcher/embedded_claimer.py", "_leased", "claim"): "claim",
    ("worker/keeper.py", "_renew", "record_worker"): "renew",
    ("worker/keeper.py", "_renew", "renew"): "renew",
    ("worker/reporter.py", "_settle", "apply"): "apply",
    ("worker/reporter.py", "_keep_late_results", "apply"): "apply",
    ("lanes/loop_lane.py", "_called", "call"): "run",
    ("lanes/thread_lane.py", "_run", "run"): "run",
    ("lanes/process_lane.py", "_ask", "send_bytes"): "run",
    ("events/announce.py", "announce", "_log"): "announce",
    ("events/announce.py", "announce", "subscriber"): "announce",
    ("maintenance/sweeper.py", "_sweep", "settle_many"): "sweep",
    ("maintenance/janitor.py", "step", "purge"): "purge",
    ("deliveries/sender.py", "send", "_sent"): "send",
    ("deliveries/sender.py", "_record", "apply"): "mark",
    ("outbox/relay.py", "_publish", "publish"): "publish",
    ("outbox/relay.py", "_mark", "mark"): "outbox.mark",
    (CONSUMER.name, "_settle", "ack"): "settle",
}
"""The effects of workers, relays and consumers: file, function, call, and the failpoint at it."""

ELSEWHERE = {
    (
        "events/settle.py",
        "_apply",
        "apply",
    ): "the one caller of settle_many has failpoints around it",
    ("events/settle.py", "_write", "apply"): "a client's write, which no worker makes",
    (
        "outbox/callbacks.py",
        "write_once",
        "apply",
    ): "a consumer's; what follows it is that it comes again",
    (
        "outbox/callbacks.py",
        "write_together",
        "apply",
    ): "a consumer's, as above; all or none",
    ("kernel/plans.py", "save", "save_plan"): "made before a worker runs",
    (
        "deliveries/courier.py",
        "_carry",
        "claim",
    ): "it leaves a lease; killed at random in test_deliveries",
    ("deliveries/courier.py", "_move", "apply"): "what follows it is `send.before`",
    (
        "deliveries/stage_deliveries.py",
        "ask",
        "ensure",
    ): "`apply.before` follows it, or the stage asks again",
    ("deliveries/stage_deliveries.py", "_asked_again", "apply"): "as above",
    ("deliveries/stage_deliveries.py", "_asked_again", "ensure"): "as above",
    ("deliveries/stage_deliveries.py", "_tell", "told"): "it spares a second look, and no more",
    ("deliveries/stage_deliveries.py", "_answer", "announce_due"): "a wake-up may be lost",
    ("maintenance/replayer.py", "_send_all", "announce_due"): "a wake-up may be lost",
    ("deliveries/reconciler.py", "check", "apply"): "what it compares is looked up again",
    ("worker/process.py", "start", "record_worker"): "made before a worker runs",
    ("worker/process.py", "start", "forget_workers"): "made before a worker runs",
    ("worker/process.py", "_record_end", "record_worker"): "made when nothing runs any more",
}


class Call(NamedTuple):
    file: str
    function: str
    name: str
    line: int


@cache
def _functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    files = {path.relative_to(RUNTIME).as_posix(): path for path in sorted(RUNTIME.rglob("*.py"))}
    return [
        (name, node)
        for name, path in {**files, CONSUMER.name: CONSUMER}.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@cache
def _calls() -> list[Call]:
    found = []
    for file, function in _functions():
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                target = node.func
                name = getattr(target, "attr", None) or getattr(target, "id", "")
                found.append(Call(file, function.name, name, node.lineno))
    return found


def _is_on_store(file: str, line: int) -> bool:
    text = (RUNTIME / file).read_text(encoding="utf-8").splitlines()
    return "store" in "".join(text[line - 2 : line])


def _reached(file: str, function: str, point: str) -> list[int]:
    lines = []
    for name, node in _functions():
        if (name, node.name) != (file, function):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "reach":
                [argument] = call.args
                if isinstance(argument, ast.Constant) and argument.value == point:
                    lines.append(call.lineno)
    return lines


def test_every_write_of_the_runtime_is_known_to_this_table() -> None:
    found = {
        (call.file, call.function, call.name)
        for call in _calls()
        if call.name in WRITES and _is_on_store(call.file, call.line)
    }
    assert found - UNDER.keys() - ELSEWHERE.keys() == set()
    assert {key for key in [*UNDER, *ELSEWHERE] if key[2] in WRITES} - found == set()


@pytest.mark.parametrize(("effect", "name"), UNDER.items(), ids=str)
def test_every_effect_has_a_failpoint_on_both_sides(
    effect: tuple[str, str, str], name: str
) -> None:
    file, function, called = effect
    lines = [call.line for call in _calls() if call[:3] == effect]
    assert lines, f"{called} is not called in {file}:{function} any more"
    before = _reached(file, function, f"{name}.before")
    after = _reached(file, function, f"{name}.after")
    assert any(line < min(lines) for line in before)
    assert any(line > max(lines) for line in after)


def test_every_point_is_named_once_in_the_table() -> None:
    names = set(UNDER.values())
    assert {f"{name}.{side}" for name in names for side in ("before", "after")} == set(POINTS)


def test_a_worker_reaches_every_point(fleet: Fleet, postbox: Postbox) -> None:
    leased_by_nobody = fleet.submit("noop")
    fleet.start(failpoints="run.before=kill").ended()
    points = set(WORKER_POINTS)
    counted = ",".join(f"{point}=kill:1000000" for point in points)
    worker = fleet.start(failpoints=counted, environment=posted_to(postbox))
    jobs = fleet.submit("steps", pause=0.5)
    notices = fleet.submit("notice")

    fleet.finished([*leased_by_nobody, *jobs, *notices])
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert {point for point, times in worker.said("ended")["reached"].items() if times} == points


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(
        [point for point in JOB_POINTS if not point.startswith("run")],
        quick={
            "claim.after",
            "apply.after",
            "announce.before",
            "renew.after",
            "sweep.after",
            "purge.after",
        },
        quick_on_sqlite={"claim.after"},
    ),
    indirect=["database_url"],
)
def test_an_error_at_any_point_costs_a_worker_nothing_but_time(fleet: Fleet, point: str) -> None:
    abandoned = []
    if point.startswith("sweep"):
        abandoned = fleet.submit("noop")
        fleet.start(failpoints="run.before=kill").ended()
    # A long lease where it can be, so that nothing is mended by waiting for its end.
    lease = 1.0 if point.startswith(("sweep", "renew")) else 30.0
    worker = fleet.start(failpoints=f"{point}=raise", lease=lease)
    jobs = fleet.submit("steps", 3, pause=0.2)

    fleet.finished([*jobs, *abandoned], within_s=10)
    assert any("FailpointReached" in (line["trouble"] or "") for line in worker.log())
    assert worker.is_alive
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    fleet.sound()


@pytest.mark.parametrize("pipeline", ["steps", "nap", "child"])
@pytest.mark.parametrize("point", [slow("run.before"), "run.after"])
def test_an_error_around_a_handler_is_that_attempts_own(
    sqlite_fleet: Fleet, point: str, pipeline: str
) -> None:
    worker = sqlite_fleet.start(failpoints=f"{point}=raise", processes=1)
    jobs = sqlite_fleet.submit(pipeline, 3, seconds=0.0, does="sleep")

    ended = sqlite_fleet.ended(jobs, within_s=30)
    assert sorted(job.state for job in ended) == ["complete", "complete", "failed"]
    assert worker.is_alive
    sqlite_fleet.sound()
