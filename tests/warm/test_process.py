"""A warm process is, to whoever starts it and to itself, a process like any other."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm.process import ROOT, WarmProcess, _WarmParent, run

SELF = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv[1:],
    "main": __name__,
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "read": sys.stdin.read(),
    "leads": os.getsid(0) == os.getpid(),
    "files": sorted(os.listdir("/proc/self/fd"), key=int)[:-1],
}))
"""


def text_of(arguments: list[str], **options) -> str:
    return run(
        [sys.executable, *arguments], stdout=subprocess.PIPE, check=True, text=True, **options
    ).stdout


def test_a_program_finds_what_it_was_started_with_and_nothing_else(tmp_path):
    (tmp_path / "in").write_text("some input")
    sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]

    with (tmp_path / "in").open() as stdin, WarmProcess(sleeps) as other:
        told = text_of(
            ["-c", SELF, "a", "b c"],
            env={"GIVEN": "yes"},
            cwd=tmp_path,
            stdin=stdin,
            start_new_session=True,
        )
        other.kill()

    assert json.loads(told) == {
        "arguments": ["a", "b c"],
        "main": "__main__",
        "folder": str(tmp_path),
        "environment": {"GIVEN": "yes"},
        "read": "some input",
        "leads": True,
        "files": ["0", "1", "2"],
    }


def test_a_script_and_a_module_are_run_as_the_main_program(tmp_path):
    for name in ("script.py", "module.py"):
        (tmp_path / name).write_text(
            "import sys, beside\nprint(__name__, __file__, sys.argv[1:], beside.WORD)"
        )
    (tmp_path / "beside.py").write_text("WORD = 'found'")

    script = text_of([str(tmp_path / "script.py"), "x"])
    module = text_of(["-m", "module", "x"], cwd=tmp_path)

    assert script == f"__main__ {tmp_path / 'script.py'} ['x'] found\n"
    assert module == f"__main__ {tmp_path / 'module.py'} ['x'] found\n"


def test_warnings_become_what_was_asked_for():
    warns = ["-c", "import warnings; warnings.warn('odd')"]

    assert run([sys.executable, *warns], stderr=subprocess.DEVNULL).returncode == 0
    asked = run([sys.executable, "-W", "error", *warns], stderr=subprocess.DEVNULL)
    assert asked.returncode == 1


def test_modules_are_looked_for_where_the_environment_says(tmp_path):
    (tmp_path / "elsewhere.py").write_text("WORD = 'found'")
    asks = ["-c", "import elsewhere; print(elsewhere.WORD)"]

    assert text_of(asks, env={"PYTHONPATH": str(tmp_path)}) == "found\n"
    assert run([sys.executable, *asks], stderr=subprocess.DEVNULL, env={}).returncode == 1


def test_its_code_is_what_lies_beside_these_tests_whatever_is_installed():
    found = text_of(
        ["-c", "import converter, holdfast; print(converter.__file__, holdfast.__file__)"]
    )

    assert [Path(each).is_relative_to(ROOT) for each in found.split()] == [True, True]


def test_what_it_leaves_in_itself_is_not_seen_by_the_next():
    text_of(["-c", "import holdfast, os; holdfast.LEFT = 1; os.environ['LEFT'] = '1'"])

    seen = text_of(["-c", "import holdfast, os; print(hasattr(holdfast, 'LEFT'), os.environ)"])

    assert seen.startswith("False ")
    assert "LEFT" not in seen


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("import sys; sys.stderr = None; 1 / 0", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import atexit, os; atexit.register(os._exit, 9)", 9),
    ],
)
def test_how_it_ended_is_told(text, status):
    process = WarmProcess([sys.executable, "-c", text])

    assert process.wait(30) == status
    assert process.poll() == status


def test_it_takes_signals_and_can_be_waited_for():
    process = WarmProcess([sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    assert process.poll() is None

    os.kill(process.pid, signal.SIGKILL)

    assert process.wait(30) == -signal.SIGKILL


def test_two_talk_at_once_and_neither_hears_the_other():
    asks = [sys.executable, "-c", "print(input())"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    first, second = WarmProcess(asks, **pipes), WarmProcess(asks, **pipes)

    assert second.communicate("b\n", timeout=30) == ("b\n", None)
    assert first.communicate("a\n", timeout=30) == ("a\n", None)


def test_failpoints_are_those_of_its_own_environment():
    asks = ["-c", "from holdfast.runtime.kernel import failpoint; failpoint.reach('claim.before')"]

    armed = run([sys.executable, *asks], env={"HOLDFAST_FAILPOINTS": "claim.before=exit"})
    unarmed = run([sys.executable, *asks], env={})

    assert (armed.returncode, unarmed.returncode) == (70, 0)


def test_what_only_a_new_interpreter_would_read_is_refused(tmp_path):
    (tmp_path / "sitecustomize.py").touch()

    for environment in ({"PYTHONPATH": str(tmp_path)}, {"LD_PRELOAD": "some.so"}):
        with pytest.raises(AssertionError, match="use subprocess"):
            WarmProcess([sys.executable, "-c", ""], env=environment)


def test_it_is_in_the_zone_of_its_own_environment():
    asks = ["-c", "import time; print(time.localtime(0).tm_hour)"]

    assert [text_of(asks, env={"TZ": zone}) for zone in ("UTC0", "XYZ-9")] == ["0\n", "9\n"]


@pytest.fixture
def own_parent(monkeypatch):
    """Other tests of this process have processes of theirs under the usual one."""
    monkeypatch.setattr(_WarmParent, "shared_at", "")
    monkeypatch.setattr(_WarmParent, "warmth", "cold")
    monkeypatch.setattr(_WarmParent, "_current", None)
    yield
    if _WarmParent._current is not None:
        _WarmParent._current.close()


@pytest.mark.usefixtures("own_parent")
def test_a_parent_that_has_ended_is_followed_by_another():
    first = _WarmParent.of_this_process()._process
    first.kill()
    first.wait()

    assert text_of(["-c", "print('started')"]) == "started\n"


@pytest.fixture
def shared_parent(tmp_path, monkeypatch, own_parent):
    """One that listens, for this process to join."""
    path = str(tmp_path / "door")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(path)
        door.listen()
        owner = _WarmParent.start(door=door)
    monkeypatch.setattr(_WarmParent, "shared_at", path)
    yield owner
    owner.close()


def test_several_share_a_parent_that_goes_on_when_one_of_them_is_gone(shared_parent):
    asks = ["-c", "import os; print(os.getppid())"]
    first = text_of(asks)
    _WarmParent._current.close()
    _WarmParent._current = None

    assert first == text_of(asks) == f"{shared_parent._process.pid}\n"


def test_a_shared_parent_that_has_ended_is_followed_by_one_of_this_process(shared_parent):
    text_of(["-c", "pass"])
    shared_parent._process.kill()
    shared_parent._process.wait()

    assert text_of(["-c", "print('started')"]) == "started\n"


@pytest.mark.usefixtures("own_parent")
def test_a_process_outlives_its_parent_and_can_be_ended():
    sleeps = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
    process = WarmProcess(sleeps, stdout=subprocess.PIPE)
    process.stdout.readline()
    _WarmParent._current._process.kill()
    _WarmParent._current._process.wait()

    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=20)

    assert process.returncode == 255


@pytest.mark.usefixtures("own_parent")
def test_a_parent_goes_on_when_whoever_asked_is_gone():
    process = WarmProcess([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    parent = _WarmParent._current
    process._news.close()
    process.stdin.close()
    text_of(["-c", "pass"])

    assert not parent.has_ended
    process.returncode = 0  # nobody is left to tell it


def test_on_a_terminal_it_sees_one():
    ours, theirs = pty.openpty()
    process = WarmProcess(
        [sys.executable, "-c", "import sys; print(sys.stdout.isatty(), sys.stdout.line_buffering)"],
        stdout=theirs,
    )
    os.close(theirs)

    assert os.read(ours, 100) == b"True True\r\n"
    assert process.wait(30) == 0
    os.close(ours)
