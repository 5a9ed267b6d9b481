"""Processes of this interpreter that start at once, because another has imported for them.

A program of ours spends most of a short life on imports. Here one process imports, and what a test
starts is a fork of it: with an environment, a folder, files and a session of its own, and all the
modules it had to load. What an interpreter does at its own start cannot be tested that way.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
POLL_S = 0.02
UNKNOWN_STATUS = 255 << 8


class WarmProcess(subprocess.Popen):
    """As `subprocess.Popen` of `[sys.executable, …]`: a script, `-m module` or `-c text`.

    Before that may stand `-W action`.
    """

    def _execute_child(self, *given) -> None:
        asked = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments
        interpreter, *arguments = [os.fspath(each) for each in asked["args"]]
        assert interpreter == sys.executable, "only this interpreter is warm"
        assert not asked["pass_fds"], "files beyond the standard ones are not passed on"
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        request = {
            "arguments": arguments,
            "environment": dict(os.environ if asked["env"] is None else asked["env"]),
            "folder": os.fspath(asked["cwd"] or Path.cwd()),
            "new_session": bool(asked["start_new_session"]),
        }
        _refuse_what_only_a_start_reads(request["environment"])
        files = [
            own if asked[end] == -1 else asked[end]
            for own, end in enumerate(("p2cread", "c2pwrite", "errwrite"))
        ]
        try:
            self._parent = _WarmParent.of_this_process()
            self._news = self._parent.launch(request, files)
            self.pid = self._told("pid", PATIENCE_S)
            assert self.pid is not None, "the parent does not answer"
            self._child_created = True
        finally:
            self._close_pipe_fds(*(asked[end] for end in ends))

    def _told(self, what: str, within_s: float | None) -> int | None:
        """Return what the parent has to say, or `None` when that takes longer."""
        self._news.settimeout(within_s)
        try:
            news = self._news.recv(1024)
        except (BlockingIOError, TimeoutError):
            return None
        if not news:
            assert what == "status", "the parent has ended"
            return self._told_by_the_system(within_s)
        return json.loads(news)[what]

    def _told_by_the_system(self, within_s: float | None) -> int | None:
        """Without its parent: whether the process is there. How it ended nobody knows."""
        while True:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return UNKNOWN_STATUS
            if within_s is not None:
                return None
            time.sleep(POLL_S)

    def _internal_poll(self, *_state, **_more) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                if self.returncode is None:
                    self._ended(self._told("status", 0))
            finally:
                self._waitpid_lock.release()
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        status = self._told("status", 0 if wait_flags & os.WNOHANG else None)
        if status is None:
            return 0, 0
        self._news.close()
        return self.pid, status

    def _ended(self, status: int | None) -> None:
        if status is not None:
            self._handle_exitstatus(status)
            self._news.close()


def _refuse_what_only_a_start_reads(environment: dict[str, str]) -> None:
    folders = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    customized = any((Path(folder) / "sitecustomize.py").exists() for folder in folders)
    assert not customized, "a fork does not load sitecustomize: use subprocess"
    assert "LD_PRELOAD" not in environment, "a fork does not load libraries: use subprocess"


def run(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    timeout: float = PATIENCE_S,
    capture_output: bool = False,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess:
    """As `subprocess.run`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with WarmProcess(arguments, **options) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(arguments, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _beside_these_tests() -> str:
    """Where the code is that belongs to these tests, which need not be what is installed."""
    return os.pathsep.join(map(str, [ROOT / "src", *sorted(ROOT.glob("apps/*/src"))]))


class _WarmParent:
    """The process that has imported, and the way to tell it what to start."""

    _current: ClassVar[_WarmParent | None] = None
    shared_at: ClassVar[str] = ""
    """The socket of one that the whole run shares; empty where there is none."""
    warmth: ClassVar[str] = "warm"
    """What is started here imports nothing when it is `cold`, which takes no time."""

    def __init__(self, requests: socket.socket, process: subprocess.Popen[bytes] | None) -> None:
        self._requests = requests
        self._process = process
        """None where somebody else has started it."""

    @classmethod
    def start(cls, *, door: socket.socket | None = None) -> _WarmParent:
        """Start one for this process, and for all that connect to a socket that listens."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        files = [each.fileno() for each in (theirs, door) if each is not None]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm.parent", cls.warmth, *map(str, files)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": _beside_these_tests()},
            pass_fds=files,
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        started = cls(ours, process)
        atexit.register(started.close)
        return started

    @classmethod
    def join(cls, path: str) -> _WarmParent | None:
        """Return the one that listens there, or None where nobody does any more."""
        requests = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            requests.connect(path)
        except OSError:
            requests.close()
            return None
        joined = cls(requests, None)
        atexit.register(joined.close)
        return joined

    @classmethod
    def of_this_process(cls) -> _WarmParent:
        """The parent of this process's programs, a new one if it has ended."""
        if cls._current is None or cls._current.has_ended:
            shared = cls.join(cls.shared_at) if cls.shared_at else None
            cls._current = shared or cls.start()
        return cls._current

    @property
    def has_ended(self) -> bool:
        """Whether nothing more can be started by it."""
        if self._process is not None:
            return self._process.poll() is not None
        try:
            # It never sends anything here: only its end can be read.
            return not self._requests.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def launch(self, request: dict[str, object], files: list[int]) -> socket.socket:
        """Have a process started, and return where it is told of."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(
                self._requests, [json.dumps(request).encode()], [*files, theirs.fileno()]
            )
        return ours

    def close(self) -> None:
        """End the parent, unless others share it; what it has started goes on."""
        self._requests.close()
        if self._process is not None:
            self._process.wait(PATIENCE_S)
