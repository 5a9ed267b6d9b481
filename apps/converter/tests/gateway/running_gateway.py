"""A gateway as it is run: a process of its own on a loopback port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from apps.converter.tests.gateway import measured_gateway
from converter.gateway.conversion import Engine
from tests.warm.process import WarmProcess


@dataclass(frozen=True)
class RunningGateway:
    """The process, and a client that talks to it."""

    process: subprocess.Popen[str]
    client: httpx2.Client
    folder: Path

    def convert(self, pdf: bytes, mapping: str = "text", **headers: str) -> httpx2.Response:
        return self.client.post(
            "/convert",
            params={"mapping": mapping},
            content=pdf,
            headers={"Content-Type": "application/pdf"} | headers,
        )

    def peak_bytes(self) -> int:
        """Return the largest resident set of any child of the gateway that has ended."""
        self.process.send_signal(measured_gateway.ASK)
        return int(self.process.stdout.readline())


@contextmanager
def running_gateway(folder: Path, engine: Engine, *options: str) -> Iterator[RunningGateway]:
    """Run `converter gateway`, keeping its temporary files in a folder."""
    process = WarmProcess(
        [
            *(sys.executable, measured_gateway.__file__, "gateway", "--port", "0"),
            *("--engine", engine.value, *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    try:
        said = process.stdout.readline()
        address = re.search(r"http://[0-9.:]+", said)
        assert address, said
        with httpx2.Client(base_url=address[0], timeout=55) as client:
            yield RunningGateway(process, client, folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=55)
