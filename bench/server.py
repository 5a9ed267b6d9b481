"""A system as people run it, `holdfast up`, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.process import Failed

TOKEN = "an-operators-token-for-the-measurement"
START_S = 60.0
END_S = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is up."""

    address: str
    pid: int

    def peak_bytes(self) -> int:
        """The most memory that it has had."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise Failed("the system does not tell how much memory a process has had")


@contextmanager
def up(
    system: str, url: str, variables: Mapping[str, str], *, within: Path | None = None
) -> Iterator[Server]:
    """Run server and worker of a system on a database, in a folder of their own within another."""
    with tempfile.TemporaryDirectory(dir=within) as folder, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "--json", "up", "--systems", system],
            cwd=folder,
            env={
                **os.environ,
                "HOLDFAST_DATABASE_URL": url,
                "HOLDFAST_PORT": "0",
                "HOLDFAST_API_TOKEN": TOKEN,
                "UPLOADS_DIR": str(Path(folder) / "uploads"),
                "RESULTS_DIR": str(Path(folder) / "results"),
                "AUDIO_DIR": str(Path(folder) / "audio"),
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            yield Server(_address(child, errors), child.pid)
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            child.stdout.close()


def _address(child: subprocess.Popen[str], errors) -> str:
    until_s = time.monotonic() + START_S
    while time.monotonic() < until_s:
        line = child.stdout.readline()
        if line.startswith("{"):
            return json.loads(line)["address"]
        if not line and child.poll() is not None:
            errors.seek(0)
            raise Failed(f"it did not start: {errors.read()[-300:]}")
    raise Failed("it did not say where it is")
