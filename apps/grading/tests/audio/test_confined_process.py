import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from grading.audio.process import ChildTimedOut, ProcessLimits, run_confined

LIMITS = ProcessLimits(cpu_s=20, memory_bytes=512 << 20, file_bytes=1 << 20)


def run(folder: Path, code: str, *, limits: ProcessLimits = LIMITS, wall_s: float = 30):
    command = [sys.executable, "-I", "-S", "-c", code]
    return run_confined(command, folder=folder, limits=limits, wall_s=wall_s)


def test_a_child_gets_nothing_of_the_environment_and_no_input(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = (
        "import json, os, sys;"
        "print(json.dumps([dict(os.environ), sys.stdin.read()]), file=sys.stderr)"
    )
    ended = run(tmp_path, code)
    environment, read = json.loads(ended.log)

    assert ended.exit_code == 0
    assert set(environment) <= {"HOME", "TMPDIR", "LANG", "LC_CTYPE"}
    assert environment["HOME"] == str(tmp_path)
    assert read == ""


def test_a_child_inherits_no_open_files(tmp_path):
    with (tmp_path / "secret").open("w") as held:
        os.set_inheritable(held.fileno(), 1)
        ended = run(tmp_path, f"import os; os.fstat({held.fileno()})")

    assert "Bad file descriptor" in ended.log


def test_a_child_has_no_network_where_the_kernel_allows_it(tmp_path):
    code = (
        "import ctypes, json, socket, sys;"
        "names = [name for _, name in socket.if_nameindex()];"
        "is_allowed = ctypes.CDLL(None).unshare(0x50000000) == 0;"
        "print(json.dumps([names, is_allowed]), file=sys.stderr)"
    )
    names, is_allowed = json.loads(run(tmp_path, code).log)

    assert names == ["lo"] or not is_allowed


def test_a_child_that_takes_more_memory_than_allowed_fails(tmp_path):
    ended = run(tmp_path, "x = bytearray(800 << 20)")

    assert ended.exit_code == 1
    assert "MemoryError" in ended.log


def test_a_child_that_computes_longer_than_allowed_is_ended(tmp_path):
    limits = ProcessLimits(cpu_s=1, memory_bytes=512 << 20, file_bytes=1 << 20)
    ended = run(tmp_path, "while True: pass", limits=limits)

    assert ended.exit_code == -signal.SIGXCPU


def test_a_child_cannot_write_a_larger_file_than_allowed(tmp_path):
    ended = run(tmp_path, "open('large', 'wb').write(bytes(2 << 20))")

    assert ended.exit_code != 0
    assert (tmp_path / "large").stat().st_size <= 1 << 20


def test_a_child_whose_time_is_up_ends_with_all_that_it_has_started(tmp_path):
    code = (
        "import os, subprocess, sys, time;"
        "p = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)']);"
        "open('pids', 'w').write(f'{os.getpid()} {p.pid}'); os.rename('pids', 'started');"
        "time.sleep(60)"
    )
    with pytest.raises(ChildTimedOut):
        run(tmp_path, code, wall_s=3)

    for pid in (tmp_path / "started").read_text().split():
        assert _has_ended(int(pid))


def test_a_long_log_is_kept_from_its_beginning_and_to_its_end(tmp_path):
    code = "import sys; print('first' + 'x' * 400_000 + 'last', file=sys.stderr)"
    ended = run(tmp_path, code)

    assert ended.log.startswith("first")
    assert ended.log.endswith("last\n")
    assert len(ended.log) < 200_000


def _has_ended(pid: int) -> bool:
    """Whether a process is gone within some seconds, or waits to be collected."""
    ends_at = time.monotonic() + 10
    while time.monotonic() < ends_at:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
