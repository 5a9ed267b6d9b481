"""CPU-bound or untrusted functions, each in a child process that can be killed."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

from holdfast.core.job.event import Failed
from holdfast.core.values.failure import WORKER_CRASH, Failure
from holdfast.core.values.instant import Instant
from holdfast.runtime import tracing
from holdfast.runtime.attempts.attempt import Attempt, Fate, Report
from holdfast.runtime.attempts.job_secrets import answer, asks_for_secret
from holdfast.runtime.attempts.outcome import RemoteOutcome
from holdfast.runtime.attempts.spans import attempt_span
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Clock, monotonic_s
from holdfast.runtime.lanes.child import GROUP_SIGNALS, event_from, request_of

POLL_S: Final = 0.05
JOIN_S: Final = 2.0
SILENT_S: Final = 1.0
_SERVE: Final = (
    "import sys; from holdfast.runtime.lanes.child import main; "
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)


class KilledChild(Exception):
    """The attempt was stopped by killing its process."""


class _Child:
    """One child process and the channel to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        lifeline_read, self._lifeline = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own module
            [sys.executable, "-c", _SERVE, str(theirs.fileno()), str(lifeline_read)],
            pass_fds=(theirs.fileno(), lifeline_read),
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        theirs.close()
        os.close(lifeline_read)
        self.connection = Connection(ours.detach())

    def kill(self) -> int:
        """End the child and return its status, negative for a signal."""
        self._process.kill()
        status = self._process.wait()
        self.connection.close()
        os.close(self._lifeline)
        return status

    def reap(self) -> int:
        """Return the status of a child that has gone silent."""
        with suppress(subprocess.TimeoutExpired):
            # It has closed the channel, which is the end of most, but a handler may do that too.
            self._process.wait(SILENT_S)
        return self.kill()


class ProcessLane:
    """Runs each attempt in a child of its own slot; a child serves many attempts until it dies."""

    def __init__(self, *, limit: int, clock: Clock, report: Report) -> None:
        self.limit = limit
        self._clock = clock
        self._report = report
        self._pending: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._load = 0
        self._slots: list[threading.Thread] = []

    def load(self) -> int:
        return self._load

    def stuck(self) -> int:
        return 0  # a child is killed

    def start(self, attempts: Sequence[Attempt]) -> None:
        with self._lock:
            self._load += len(attempts)
            while len(self._slots) < min(self._load, self.limit):
                slot = threading.Thread(target=self._serve, name="holdfast-slot", daemon=True)
                self._slots.append(slot)
                slot.start()
        for attempt in attempts:
            self._pending.put(attempt)

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        if attempt.fate is None:
            attempt.fate = fate

    def release_pending(self) -> None:
        while True:
            try:
                attempt = self._pending.get_nowait()
            except queue.Empty:
                return
            if attempt is None:
                continue
            attempt.fate = attempt.fate or Fate.SHUT_DOWN
            self._end(attempt, None, KilledChild("the worker stops"))

    def close(self) -> int:
        for _ in self._slots:
            self._pending.put(None)
        for slot in self._slots:
            slot.join(JOIN_S)
        return sum(slot.is_alive() for slot in self._slots)

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)  # inherited by children
        child: _Child | None = None
        while (attempt := self._pending.get()) is not None:
            value: Any = None
            error: BaseException | None = None
            try:
                if attempt.fate is not None:
                    self._end(attempt, None, KilledChild("it was stopped before it began"))
                    continue
                child = child or _Child()
                value = self._run(child, attempt)
            except KilledChild as raised:
                error = raised
                child = None
            except (EOFError, OSError):
                value = RemoteOutcome(Failed(_crash(child.reap() if child else None)))
                child = None
            except Exception as raised:  # noqa: BLE001 - a slot outlives every attempt
                error = raised
                if child is not None:
                    child.kill()
                child = None
            self._end(attempt, value, error)
        if child is not None:
            child.kill()

    def _run(self, child: _Child, attempt: Attempt) -> RemoteOutcome:
        attempt.begin(self._clock)
        if attempt.refusal is not None:
            return RemoteOutcome(attempt.refusal)
        now = self._clock.now()
        if not tracing.enabled():
            return self._ask(child, attempt, now)
        with attempt_span(attempt):
            return self._ask(child, attempt, now)

    def _ask(self, child: _Child, attempt: Attempt, now: Instant) -> RemoteOutcome:
        failpoint.reach("run.before")
        child.connection.send_bytes(request_of(attempt, now=now))
        while asks_for_secret(frame := self._frame_from(child, attempt)):
            # Beside it: an attempt ends in time also when nobody answers.
            given = (frame, child.connection, attempt.secrets)
            threading.Thread(target=answer, args=given, kwargs={"now": now}, daemon=True).start()
        outcome = RemoteOutcome(event_from(frame))
        failpoint.reach("run.after")
        return outcome

    def _frame_from(self, child: _Child, attempt: Attempt) -> bytes:
        """Return the next frame of a child, unless the attempt has to end before."""
        while not child.connection.poll(POLL_S):
            if attempt.ends_at_s is not None and attempt.ends_at_s <= monotonic_s():
                self.stop(attempt, Fate.TIMED_OUT)
            if attempt.fate is not None:
                child.kill()
                raise KilledChild(f"the attempt was {attempt.fate.value}")
        return child.connection.recv_bytes()

    def _end(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        with self._lock:
            self._load -= 1
        attempt.ended = True
        self._report(attempt, value, error)


def _crash(status: int | None) -> Failure:
    if status is None:
        how = "could not be started"
    elif status < 0:
        how = f"was killed by {signal.Signals(-status).name}"
    else:
        how = f"exited with status {status}"
    return Failure(
        error_class=WORKER_CRASH.error_class,
        message=f"the process that ran the handler {how}",
        category=WORKER_CRASH.category,
        retryable=True,
        outcome_known=False,
    )
