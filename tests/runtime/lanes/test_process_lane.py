"""Functions in child processes: whatever they do to themselves, the worker goes on."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.classify import ProviderError
from holdfast.classify.verdicts import UNSENT
from holdfast.core.job.event import Done, Failed, Interrupted, Snoozed, Suspended
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, STAGE_TIMEOUT
from holdfast.runtime.attempts.attempt import Fate
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from holdfast.runtime.lanes.child import event_from
from holdfast.runtime.lanes.process_lane import ProcessLane
from holdfast.secrecy import keep_secret
from holdfast.testing.clock import START, ManualClock
from tests.runtime.attempts.samples import PATIENCE_S, Desk, attempt_of_stage
from tests.runtime.lanes.process_handlers import STAGES, pipeline


@pytest.fixture(scope="module")
def shared_desk():
    return Desk()


@pytest.fixture
def desk(shared_desk):
    shared_desk.reported.clear()
    return shared_desk


@pytest.fixture(scope="module")
def lane(shared_desk):
    """One lane for all tests: starting a child takes long, and no handler may spoil it."""
    desk = shared_desk
    lane = ProcessLane(limit=1, clock=ManualClock(), report=desk.report)
    yield lane
    lane.close()


def attempt(name, payload=None, **options):
    return attempt_of_stage(STAGES[name], pipeline, payload=json.dumps(payload or {}), **options)


def run(lane, desk, *attempts):
    before = len(desk.reported)
    lane.start(attempts)
    return [item.event for item in desk.wait_for(before + len(attempts))[before:]]


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has died and was not reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until_dead(pid: int) -> None:
    until_s = monotonic_s() + PATIENCE_S
    while is_alive(pid):
        assert monotonic_s() < until_s
        sleep_s(0.01)


def wait_for_text(path: Path) -> str:
    until_s = monotonic_s() + PATIENCE_S
    while not (path.exists() and path.read_text()):
        assert monotonic_s() < until_s
        sleep_s(0.01)
    return path.read_text()


def test_a_handler_runs_elsewhere_with_all_it_asks_for(lane, desk):
    first, second = run(lane, desk, attempt("report", {"n": 3}), attempt("report"))

    told = json.loads(first.result)
    assert told["pid"] != os.getpid()
    assert (told["payload"], told["n"], told["attempt"]) == ({"n": 3}, 3, 1)
    assert told["token"] == "0190:1:report"
    assert json.loads(second.result)["pid"] == told["pid"]
    assert lane.load() == 0


def test_what_the_upstream_answered_comes_back_from_the_child(lane, desk):
    assert run(lane, desk, attempt("call_upstream")) == [Done("null", http_status=202)]


def test_earlier_results_reach_the_child(lane, desk):
    assert run(lane, desk, attempt("result_of", checkpoints={"report": "41"})) == [Done("42")]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("segfault", "was killed by SIGSEGV"),
        ("kill_itself", "was killed by SIGKILL"),
        ("leave", "exited with status 3"),
        ("hang_up", "was killed by SIGKILL"),
    ],
)
def test_a_crash_of_the_child_is_a_failed_attempt_and_the_next_job_runs(lane, desk, name, how):
    [crash, fine] = run(lane, desk, attempt(name), attempt("report"))

    assert isinstance(crash, Failed)
    assert crash.failure.error_class == "WORKER_CRASH"
    assert crash.failure.retryable
    assert how in crash.failure.message
    assert isinstance(fine, Done)


def test_a_child_that_takes_too_long_is_killed(lane, desk):
    assert run(lane, desk, attempt("sleep")) == [Failed(STAGE_TIMEOUT)]


def test_a_child_can_be_killed_from_outside(lane, desk, tmp_path):
    started = tmp_path / "pid"
    stopped = attempt("sleep_without_timeout", {"started": str(started)})
    lane.start([stopped])
    pid = int(wait_for_text(started))
    lane.stop(stopped, Fate.SHUT_DOWN)

    assert desk.wait_for(1)[0].event == Interrupted()
    wait_until_dead(pid)


def test_signals_to_the_whole_group_are_left_to_the_worker(lane, desk):
    assert run(lane, desk, attempt("survive_signals")) == [Done('"alive"')]


def test_the_child_knows_how_much_time_is_left(lane, desk):
    limited = attempt("time_left", deadline_at=START + 60_000_000)

    [event] = run(lane, desk, limited)

    assert 0 < float(event.result) < 60.1


def test_what_a_handler_prints_disturbs_nothing(lane, desk):
    assert run(lane, desk, attempt("talk"), attempt("talk")) == [Done('"said"')] * 2


@pytest.mark.parametrize(
    ("kind", "error_class", "retryable"),
    [
        ("timeout", "NETWORK_TIMEOUT", True),
        ("bug", "BUG", False),
        ("odd", "ODD", True),
        ("give up", "NOT_FOUND", False),
        ("group", "NETWORK_TIMEOUT", True),
    ],
)
def test_exceptions_are_classified_in_the_child(lane, desk, kind, error_class, retryable):
    [event] = run(lane, desk, attempt("raise_what_is_asked", {"kind": kind}))

    assert isinstance(event, Failed)
    assert (event.failure.error_class, event.failure.retryable) == (error_class, retryable)
    assert "process_handlers.py" in event.failure.stack


def test_a_handler_can_postpone_itself_or_wait(lane, desk):
    events = run(
        lane, desk, attempt("raise_what_is_asked", {"kind": "later"}), attempt("wait_for_answer")
    )

    assert events == [Snoozed(7_000_000, "busy"), Suspended(START + 5_000_000)]


@pytest.mark.parametrize("kind", ["exit", "interrupt", "cancel"])
def test_a_handler_that_stops_itself_has_failed(lane, desk, kind):
    [event] = run(lane, desk, attempt("raise_what_is_asked", {"kind": kind}))

    assert isinstance(event, Failed)
    assert (event.failure.error_class, event.failure.retryable) == ("HANDLER_STOPPED", True)


@pytest.mark.parametrize("name", ["unserialisable", "enormous"])
def test_a_result_that_cannot_be_stored_is_a_failure(lane, desk, name):
    [event] = run(lane, desk, attempt(name))

    assert isinstance(event, Failed)
    assert (event.failure.error_class, event.failure.retryable) == ("RESULT_INVALID", False)


@pytest.mark.parametrize(
    "target",
    ["tests.runtime.no_such_module:report", "tests.runtime.lanes.process_handlers:pipeline"],
)
def test_a_handler_that_the_child_cannot_find_is_said_so(lane, desk, target):
    lost = attempt("report")
    lost.bound = replace(lost.bound, target=target)

    [event, fine] = run(lane, desk, lost, attempt("report"))

    assert isinstance(event, Failed)
    assert event.failure.error_class == "BUG"
    assert target.partition(":")[0] in event.failure.message
    assert isinstance(fine, Done)


def test_context_variables_do_not_leak_from_job_to_job(lane, desk):
    assert run(lane, desk, attempt("dirty"), attempt("dirty")) == [Done('"clean"')] * 2


def test_an_attempt_stopped_before_it_began_never_runs(lane, desk, tmp_path):
    started = tmp_path / "pid"
    blocker = attempt("sleep_without_timeout", {"started": str(started)})
    waiting = attempt("report")
    lane.start([blocker, waiting])
    wait_for_text(started)
    lane.stop(waiting, Fate.LOST)
    lane.stop(blocker, Fate.SHUT_DOWN)

    events = {id(item.attempt): item.event for item in desk.wait_for(2)}
    assert events == {id(blocker): Interrupted(), id(waiting): None}


def test_waiting_attempts_are_handed_back(lane, desk, tmp_path):
    started = tmp_path / "pid"
    blocker = attempt("sleep_without_timeout", {"started": str(started)})
    lane.start([blocker])
    wait_for_text(started)
    lane.start([attempt("report"), attempt("report")])
    lane.release_pending()

    assert [item.event for item in desk.wait_for(2)] == [Interrupted()] * 2
    assert lane.load() == 1
    lane.stop(blocker, Fate.SHUT_DOWN)
    assert desk.wait_for(3)[2].attempt is blocker


def test_closing_ends_idle_children(desk):
    lane = ProcessLane(limit=1, clock=ManualClock(), report=desk.report)
    [event] = run(lane, desk, attempt("report"))
    pid = json.loads(event.result)["pid"]

    assert lane.close() == 0
    wait_until_dead(pid)


def test_a_child_dies_with_its_parent(tmp_path):
    started = tmp_path / "pid"
    program = textwrap.dedent(
        f"""
        import threading
        from tests.runtime.lanes.test_process_lane import ProcessLane, ManualClock, attempt
        lane = ProcessLane(limit=1, clock=ManualClock(), report=print)
        lane.start([attempt("sleep_without_timeout", {{"started": {str(started)!r}}})])
        threading.Event().wait()
        """
    )
    path = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}
    )
    child = int(wait_for_text(started))
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait(PATIENCE_S)

    wait_until_dead(child)


def test_a_child_says_nothing_of_what_its_parent_keeps_secret(lane, desk):
    first, second = "Hy4-of-the-parent-8Tm", "Hy4-rotated-since-2Wd"
    keep_secret([first])
    # What is cut says so, which takes some of the room.
    across = "x" * (MAX_MESSAGE_LENGTH - 40)

    failed, snoozed, cut = run(
        lane,
        desk,
        attempt("say", {"words": f"no {first}", "how": "fail"}),
        attempt("say", {"words": f"no {first}", "how": "later"}),
        attempt("say", {"words": across + first + " end" * 1_000, "how": "fail"}),
    )
    keep_secret([second])
    (rotated,) = run(lane, desk, attempt("say", {"words": f"{first} {second}", "how": "fail"}))

    assert (failed.failure.error_class, failed.failure.message[:13]) == ("REFUSED", "no [redacted:")
    assert first not in failed.failure.text
    assert first not in snoozed.reason
    assert first[:6] not in cut.failure.text
    assert first not in rotated.failure.text
    assert second not in rotated.failure.text


def test_what_became_a_secret_while_a_child_ran_is_taken_out_of_its_reply():
    secret = "Hy4-since-the-request-5Vp"
    reply = {"kind": "failed", "failure": {"error_class": "REFUSED", "message": f"no {secret}"}}
    reply["failure"] |= {"stack": f"GiveUp: {secret}", "category": "PERMANENT", "retryable": False}
    keep_secret([secret])

    event = event_from(json.dumps(reply).encode())
    later = event_from(json.dumps({"kind": "snoozed", "after_us": 1, "reason": secret}).encode())

    assert secret not in event.failure.text
    assert secret not in later.reason


class Desks:
    """Secrets of a worker, some of which take long."""

    def __init__(self, asked: Path | None = None) -> None:
        self.asked = asked
        self.may_answer = threading.Event()
        self.questions = []

    def get(self, pipeline, name, *, fresh):
        self.questions.append((pipeline, name, fresh))
        if name == "AWAY":
            raise ProviderError(UNSENT, "the vault is away")
        if name == "SLOW":
            self.asked.touch()
            assert self.may_answer.wait(PATIENCE_S)
        return f"Hd6-of-the-parent-{len(name)}Xc"


def asking(name, secrets, payload=None, **options):
    made = attempt(name, payload, **options)
    made.secrets = secrets
    return made


def test_a_child_gets_secrets_from_the_worker(lane, desk):
    secrets = Desks()

    [event] = run(lane, desk, asking("ask_for_secrets", secrets, {"names": ["KEY", "OTHER"]}))

    assert event == Done("[21,21]")
    assert secrets.questions == [("processes", "KEY", False), ("processes", "OTHER", False)]


def test_what_a_child_was_given_is_in_no_failure_of_it(lane, desk):
    [event] = run(lane, desk, asking("let_secret_slip", Desks()))

    assert "refused for [redacted:known" in event.failure.message
    assert "Hd6" not in str(event)


def test_a_child_without_a_secret_fails_as_a_handler_of_the_worker_does(lane, desk):
    away = asking("ask_for_secrets", Desks(), {"names": ["AWAY"]})
    nobody = attempt("ask_for_secrets", {"names": ["KEY"]})

    [first, second] = run(lane, desk, away, nobody)

    assert (first.failure.error_class, first.failure.retryable) == ("NETWORK", True)
    assert "the vault is away" in first.failure.message
    assert "where a worker runs the stage" in second.failure.message


def test_an_attempt_ends_in_time_while_nobody_answers(lane, desk, tmp_path):
    secrets = Desks(tmp_path / "asked")
    late = asking("ask_for_secrets", secrets, {"names": ["SLOW"]})
    late.stage = replace(late.stage, timeout_us=300_000)

    run(lane, desk, late)
    secrets.may_answer.set()

    assert late.fate is Fate.TIMED_OUT
    [event] = run(lane, desk, asking("ask_for_secrets", Desks(), {"names": ["KEY"]}))
    assert event == Done("[21]")


def test_a_question_that_a_handler_left_behind_is_not_taken_for_the_next_attempt(
    lane, desk, tmp_path
):
    secrets = Desks(tmp_path / "asked")
    returning = tmp_path / "returning"
    payload = {"asked": str(secrets.asked), "returning": str(returning)}
    left = asking("leave_a_question", secrets, payload)
    lane.start((left, attempt("report", {"n": 7})))
    wait_for_text(returning)
    secrets.may_answer.set()

    [first, second] = [item.event for item in desk.wait_for(2)]

    assert first == Done("1")
    assert json.loads(second.result)["n"] == 7
