"""Grading as it is deployed: `holdfast up`, `grading service` and Celery workers as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self
from uuid import uuid4

import httpx2

from apps.grading.tests.running import wait_for
from grading.config import GradingConfig
from grading.llm.stand_in import LlmStandIn
from holdfast.lab.stand_in_server import StandInServer
from holdfast.systems import Answer, Call, StandIn
from holdfast.testing.servers.ports import LOOPBACK, free_port
from tests.deployed.process import OPERATOR, surroundings
from tests.warm.process import WarmProcess

_OWN = ("AMQP_", "AUDIO_", "DATABASE_", "DLQ_", "GRADING_", "LLM_", "OUTBOX_", "PORT", "SLA_")

WRONG_CLOCK = """
import sys
import time

off_by_s = float(sys.argv.pop(1))
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + off_by_s
time.time_ns = lambda: real_ns() + int(off_by_s * 1_000_000_000)

from holdfast.cli.main import program

program()
"""


class Model:
    """A model over HTTP that keeps a ledger, and can be made to answer nothing for a while."""

    def __init__(self) -> None:
        self.stand_in = LlmStandIn()
        self.open = threading.Event()
        self.open.set()
        self.waiting = 0
        self._lock = threading.Lock()

    def answer(self, call: Call) -> Answer:
        with self._lock:
            self.waiting += 1
        self.open.wait(60)
        return self.stand_in(call)

    @contextmanager
    def serving(self) -> Iterator[str]:
        server = StandInServer(StandIn(upstream="llm", variable="LLM_BASE_URL", answer=self.answer))
        server.start()
        try:
            yield server.url
        finally:
            self.open.set()
            server.close()


class Process:
    """A process and everything it has started, with its output in a file."""

    def __init__(
        self, arguments: list[str], environment: dict[str, str], log: Path, *, warm: bool
    ) -> None:
        self.log = log
        started = WarmProcess if warm else subprocess.Popen
        with log.open("ab") as output:
            self._process = started(
                [sys.executable, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def send(self, number: int) -> None:
        # The number of one that has ended may be another's by now.
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self._process.wait(20)

    def end(self) -> None:
        """Have it end by itself, or kill it when it takes too long."""
        if self._process.poll() is None:
            # Only the first process: how it ends its own children is part of what is tested.
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")


class Front:
    """A process of `holdfast up`, at an address that it keeps when it is started again."""

    def __init__(self, process: Process, address: str) -> None:
        self.process = process
        self.address = address

    def ready(self) -> None:
        """Wait until it answers."""

        def answers() -> bool:
            assert self.process.is_alive, self.process.said()
            try:
                return httpx2.get(f"{self.address}/api/questions").status_code in (200, 401)
            except httpx2.TransportError:
                return False

        wait_for(answers, limit_s=90, what=f"{self.address} answers")


class Fleet:
    """Starts processes of grading; those that still run end with the test.

    Main and graders keep recordings in folders of their own.
    """

    def __init__(
        self, config: GradingConfig, url: str, model_url: str | None, folder: Path
    ) -> None:
        self._folder = folder
        self._config = config
        self._opened = ExitStack()
        self._started = 0
        model = {"LLM_BASE_URL": model_url, "LLM_API_KEY": "none"} if model_url else {}
        own = {
            "AMQP_URL": config.broker_url or "",
            "DATABASE_URL": url,
            "GRADING_EXCHANGE": config.exchange,
            "GRADING_QUEUE_PREFIX": config.queue_prefix,
            "GRADING_RUNNER": config.runner,
            "OUTBOX_POLL_INTERVAL_MS": "300",
            "WORKER_LEASE_TTL_SEC": str(config.lease_s),
            "PUBLIC_URL": config.public_url,
            "HOLDFAST_API_TOKEN": OPERATOR,
            "SUBMISSIONS_PER_MINUTE": "0",
            "QUOTA_ACTIVE": "10000",
            "AUDIO_DIR": str(folder / "grader-audio"),
        }
        self._environment = surroundings({**own, **model}, foreign=_OWN)

    @property
    def recordings(self) -> Path:
        """Where main keeps recordings."""
        return self._folder / "main-audio"

    def front(
        self, *, address: str | None = None, off_by_s: float | None = None, **more: str
    ) -> Front:
        """Start `holdfast up`, main with its API; `off_by_s` is how wrong its clock is."""
        address = address or f"http://{LOOPBACK}:{free_port()}"
        program = ["-m", "holdfast"] if off_by_s is None else ["-c", WRONG_CLOCK, str(off_by_s)]
        port = address.rpartition(":")[2]
        arguments = [*program, "up", "--systems", "grading", "--port", port]
        more |= {"AUDIO_DIR": str(self.recordings)}
        return Front(self._start(arguments, "main", warm=True, **more), address)

    def service(self, **more: str) -> Process:
        return self._start(["-m", "grading", "service"], "service", warm=True, **more)

    def worker(self) -> Process:
        queue = f"{self._config.queue_prefix}holdfast.grading"
        # Two workers of one name refuse to run side by side.
        name = f"grader-{uuid4().hex[:8]}@%h"
        options = ["-Q", queue, "-c", "1", "-n", name, "--without-gossip", "--without-mingle"]
        arguments = ["-m", "celery", "-A", "grading.fleet", "worker", "-l", "INFO", *options]
        return self._start(arguments, "celery", warm=False)

    def _start(self, arguments: list[str], name: str, *, warm: bool, **more: str) -> Process:
        self._started += 1
        log = self._folder / f"{name}-{self._started}.log"
        process = Process(arguments, {**self._environment, **more}, log, warm=warm)
        self._opened.callback(process.end)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
