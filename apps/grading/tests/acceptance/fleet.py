"""A grader as it is deployed: `grading service` and Celery workers, in processes of their own."""

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

from grading.config import GradingConfig
from grading.llm.stand_in import LlmStandIn
from holdfast.lab.stand_in_server import StandInServer
from holdfast.systems import Answer, Call, StandIn


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

    def __init__(self, arguments: list[str], environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def send(self, number: int) -> None:
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self._process.wait(20)

    def end(self) -> None:
        if self._process.poll() is None:
            self.send(signal.SIGTERM)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None


class Fleet:
    """Starts processes of a grader; those that still run end with the test."""

    def __init__(self, config: GradingConfig, url: str, model_url: str, folder: Path) -> None:
        self._folder = folder
        self._config = config
        self._opened = ExitStack()
        self._environment = os.environ | {
            "AMQP_URL": config.broker_url or "",
            "DATABASE_URL": url,
            "GRADING_EXCHANGE": config.exchange,
            "GRADING_QUEUE_PREFIX": config.queue_prefix,
            "GRADING_RUNNER": config.runner,
            "OUTBOX_POLL_INTERVAL_MS": "300",
            "WORKER_LEASE_TTL_SEC": "3",
            "LLM_BASE_URL": model_url,
            "LLM_API_KEY": "none",
            "AUDIO_DIR": str(folder / "audio"),
        }

    def service(self) -> Process:
        return self._started(["-m", "grading.service"], "service")

    def worker(self) -> Process:
        queue = f"{self._config.queue_prefix}holdfast.grading"
        # Two workers of one name refuse to run side by side.
        name = f"grader-{uuid4().hex[:8]}@%h"
        options = ["-Q", queue, "-c", "1", "-n", name, "--without-gossip", "--without-mingle"]
        return self._started(["-m", "celery", "-A", "grading.fleet", "worker", *options], "celery")

    def _started(self, arguments: list[str], name: str) -> Process:
        process = Process(arguments, self._environment, self._folder / f"{name}.log")
        self._opened.callback(process.end)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
