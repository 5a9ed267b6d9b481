"""A program under test as a child process, seen through the lines it writes."""

import json
import os
import queue
import subprocess
import tempfile
import threading
from types import TracebackType
from typing import Any, Self

from bench.environments import PROJECT, Command


class Failed(Exception):
    """A program under test did not do what it was asked; the row has no figure."""


class Process:
    """One step of a program under test. Leaving the block ends it, by request or by force."""

    def __init__(self, command: Command, verb: str, options: dict[str, Any]) -> None:
        self._verb = verb
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed on exit
        self._child = subprocess.Popen(
            [*command.arguments, verb, json.dumps(options)],
            cwd=PROJECT,
            env={**os.environ, **command.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._close_input()
            self._child.wait(timeout=10 if error is None else 1)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        finally:
            self._reader.join(1)
            if not self._reader.is_alive():
                self._child.stdout.close()
            self._errors.close()

    def ask(self, line: str = "") -> None:
        """Send a line; an empty one asks for one submission."""
        self._child.stdin.write(f"{line}\n")
        self._child.stdin.flush()

    def expect(self, event: str, *, within_s: float) -> dict[str, Any]:
        """The next thing the program says, which must be this event."""
        try:
            said = self._events.get(timeout=within_s)
        except queue.Empty:
            raise self._failed(f"did not say {event!r} within {within_s:g} s") from None
        if said is None:
            raise self._failed(f"ended with code {self._child.wait()} before {event!r}")
        if said["event"] != event:
            raise self._failed(f"said {said['event']!r} instead of {event!r}")
        return said

    def stop(self, *, within_s: float = 30) -> dict[str, Any]:
        """Ask a worker to stop and return what it says last."""
        self._close_input()
        return self.expect("stopped", within_s=within_s)

    def _close_input(self) -> None:
        try:
            self._child.stdin.close()
        except BrokenPipeError:
            return

    def _read(self) -> None:
        for line in self._child.stdout:
            # Some libraries greet on standard output; only objects are ours.
            if line.startswith("{"):
                self._events.put(json.loads(line))
        self._events.put(None)

    def _failed(self, what: str) -> Failed:
        self._errors.seek(0)
        last_words = self._errors.read().strip().splitlines()[-3:]
        return Failed(" / ".join([f"{self._verb} {what}", *last_words]))
