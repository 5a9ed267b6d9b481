"""Programs within limits of time and of what they say."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from criticizer.processes import SaysTooMuch, run
from criticizer.wire import Deadline

PATIENCE_S = 30.0


def sh(script, *, timeout_s=PATIENCE_S, max_bytes=1_000_000, **options):
    environment = options.pop("environment", {"PATH": os.defpath})
    return run(
        ("/bin/sh", "-c", script),
        environment=environment,
        deadline=Deadline(timeout_s),
        max_bytes=max_bytes,
        **options,
    )


def is_alive(pid):
    """Whether a process runs; one that ended and was not buried does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def ended_in_time(pid):
    deadline_s = time.monotonic() + PATIENCE_S
    while is_alive(pid) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return not is_alive(pid)


def test_what_a_program_says_and_how_it_ends_is_told():
    ended = sh("echo out; echo oops >&2; exit 3")

    assert (ended.code, ended.output, ended.complaints) == (3, b"out\n", "oops\n")


def test_a_program_gets_the_environment_it_is_given_and_nothing_to_read(monkeypatch):
    monkeypatch.setenv("PLANTED", "1")
    ended = run(
        (sys.executable, "-I", "-c", "import os, sys; print(sorted(os.environ), sys.stdin.read())"),
        environment={"ONLY": "this", "LC_ALL": "C"},
        deadline=Deadline(PATIENCE_S),
        max_bytes=10_000,
    )

    assert b"PLANTED" not in ended.output
    assert b"'ONLY'" in ended.output


def test_a_program_that_says_too_much_is_ended():
    with pytest.raises(SaysTooMuch):
        sh("yes", max_bytes=100_000)


def test_complaints_without_end_are_not_kept():
    ended = sh("i=0; while [ $i -lt 3000 ]; do echo complaint complaint >&2; i=$((i+1)); done")

    assert len(ended.complaints) <= 16_384


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM;"])
def test_a_program_that_takes_too_long_is_ended_with_all_it_started(tmp_path, stubborn):
    pids = tmp_path / "pids"
    with pytest.raises(TimeoutError):
        sh(f"{stubborn} sleep 300 & echo $! $$ > {pids}; sleep 300; sleep 300", timeout_s=2.0)

    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    assert all(ended_in_time(pid) for pid in started)


def test_what_a_program_leaves_behind_is_ended(tmp_path):
    pid_file = tmp_path / "pid"
    sh(f"sleep 300 >/dev/null 2>&1 & echo $! > {pid_file}")

    assert ended_in_time(int(pid_file.read_text()))


def test_a_program_that_closes_its_ends_and_stays_is_ended():
    started_at_s = time.monotonic()
    with pytest.raises(TimeoutError):
        sh("exec >&- 2>&-; sleep 300", timeout_s=1.0)

    assert time.monotonic() - started_at_s < PATIENCE_S
