"""Runs `holdfast up`, `dev` and `serve` as processes, as a shell or a process manager would."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.calls import Reply, call
from tests.warm.process import WarmProcess

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90.0
_ADDRESS = re.compile(r"http://[\w.\[\]:-]+:\d+")


def eventually(look: Callable[[], Any], what: str) -> Any:
    """Return the first true answer, or fail saying what was waited for."""
    until = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.05)
    return found


class Running:
    """A process that serves, what it said, and how to talk to it."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self._folder = folder

    @property
    def stdout(self) -> str:
        return (self._folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self._folder / "stderr").read_text()

    @property
    def address(self) -> str:
        """Where it listens, as soon as it says so."""

        def look() -> str | None:
            assert self.process.poll() is None, self.stderr
            found = _ADDRESS.search(self.stdout) or _ADDRESS.search(self.stderr)
            return found[0] if found else None

        return str(eventually(look, "the address is told"))

    def get(self, path: str, **headers: str) -> Reply:
        return call(f"{self.address}{path}", **headers)

    def submit(self, pipeline: str, payload: object, **headers: str) -> str:
        """Make a job over HTTP and return its id."""
        body = json.dumps({"pipeline": pipeline, "payload": payload}).encode()
        reply = call(
            f"{self.address}/api/jobs", data=body, Content_Type="application/json", **headers
        )
        assert reply.status == 201, reply.body
        return str(reply.document["id"])

    def job(self, job_id: str) -> dict[str, Any]:
        return dict(self.get(f"/api/jobs/{job_id}").document)

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stderr.splitlines()]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@contextmanager
def running(folder: Path, *arguments: str, **variables: str) -> Iterator[Running]:
    """Run a command of holdfast in a folder until the end of the block."""
    with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
        process = WarmProcess(
            [sys.executable, "-m", "holdfast", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **variables},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
        )
    try:
        yield Running(process, folder)
    finally:
        process.kill()
        process.wait()
