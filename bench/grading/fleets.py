"""Both versions of grading as fleets of processes on one database, one broker and one model."""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from bench.environments import PROJECT
from bench.grading import plain
from bench.process import Failed
from grading.config import GradingConfig
from grading.main.side import MainSide
from grading.main.submissions import Wanted
from holdfast import Holdfast

CHILDREN = "2"
NEW = "01990000-0000-7000-8000-000000000000"
"""Ids from here on are new: those of a made-up history are below it, and are not counted."""
END_S = 20
POLL_S = 0.1
"""Counting thousands of rows takes milliseconds: more often, it would be part of the figure."""
ESSAY = (
    "In my opinion, tourism creates jobs in small towns. However, too many visitors harm nature. "
    "For example, prices rise. In conclusion, a town should plan tourism with care. "
) * 8
_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING")
_CELERY = (sys.executable, "-m", "celery", "-A")


class Ours:
    """The grading system: `holdfast up`, `grading service` and a Celery fleet."""

    completed = (
        "select count(*) from holdfast.job where pipeline = 'submission' and state = 'complete'"
        f" and id >= '{NEW}'"
    )

    def __init__(self, url: str, broker_url: str, model_url: str, folder: Path) -> None:
        self._environment = {
            "DATABASE_URL": url,
            "HOLDFAST_DATABASE_URL": url,
            "AMQP_URL": broker_url,
            "GRADING_EXCHANGE": f"bench-{uuid.uuid4().hex[:8]}",
            "GRADING_QUEUE_PREFIX": f"bench{uuid.uuid4().hex[:8]}.",
            "LLM_BASE_URL": model_url,
            "LLM_API_KEY": "bench",
            "LLM_MODEL": "bench",
            "AUDIO_DIR": str(folder),
            "HOLDFAST_PORT": "0",
            "HOLDFAST_API_TOKEN": "a-token-for-the-measurement",
            "SUBMISSIONS_PER_MINUTE": "0",
        }
        config = GradingConfig.from_environment(self._environment)
        self._main = MainSide(config)
        self._app = Holdfast(
            url, pipelines=[self._main.pipeline], tables={"grading": "grading.tables"}
        )
        self._main.bind(self._app)
        self._submissions = self._main.submissions()

    def submit(self) -> None:
        wanted = Wanted(skill="writing", question_id="w2-tourism", text=ESSAY)
        self._submissions.submit(wanted, owner=f"learner-{uuid.uuid4()}", key=None)

    @contextmanager
    def running(self) -> Iterator[None]:
        prefix = self._environment["GRADING_QUEUE_PREFIX"]
        queue = f"{prefix}holdfast.grading"
        with _started(
            self._environment,
            [sys.executable, "-m", "holdfast", "--json", "up", "--systems", "grading"],
            [sys.executable, "-m", "grading", "service", "--log-level", "warning"],
            [*_CELERY, "grading.fleet", "worker", "-Q", queue, "-c", CHILDREN, *_QUIET],
        ):
            yield

    def close(self) -> None:
        self._app.close()


class Plain:
    """The same contract on plain Celery."""

    completed = "select count(*) from submission where status = 'COMPLETED'"

    def __init__(self, url: str, broker_url: str, model_url: str, _folder: Path) -> None:
        self._environment = {
            "BENCH_DATABASE": url,
            "BENCH_BROKER": broker_url,
            "LLM_BASE_URL": model_url,
        }
        self._database = psycopg.connect(url, autocommit=True)
        self._database.execute(plain.SCHEMA)

    def submit(self) -> None:
        self._database.execute(plain.SUBMIT, {"id": uuid.uuid4(), "text": ESSAY})

    @contextmanager
    def running(self) -> Iterator[None]:
        module = "bench.grading.plain"
        with _started(
            self._environment,
            [sys.executable, "-m", module, "poll"],
            [sys.executable, "-m", module, "callbacks"],
            [*_CELERY, f"{module}:celery", "worker", "-Q", plain.REQUESTS, "-c", CHILDREN, *_QUIET],
        ):
            yield

    def close(self) -> None:
        self._database.close()


@contextmanager
def model() -> Iterator[str]:
    """Run the model, and yield where it is."""
    command = [sys.executable, "-m", "bench.grading.model"]
    child = subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield json.loads(child.stdout.readline())["address"]
    finally:
        child.stdin.close()
        child.wait(END_S)
        child.stdout.close()


@contextmanager
def _started(environment: dict[str, str], *commands: list[str]) -> Iterator[None]:
    with ExitStack() as opened:
        output = opened.enter_context(tempfile.TemporaryFile("w+"))
        children = []
        for command in commands:
            child = subprocess.Popen(
                command,
                cwd=PROJECT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            opened.callback(_end, child)
            children.append(child)
        yield
        if any(child.poll() is not None for child in children):
            output.seek(0)
            raise Failed(f"a process has ended: {output.read()[-400:]}")


def _end(child: subprocess.Popen) -> None:
    child.terminate()
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def count_until(database, statement: str, wanted: int, *, within_s: float) -> tuple[float, float]:
    """Return when the first was counted and when all were, by the monotonic clock."""
    until_s, first_s = time.monotonic() + within_s, None
    while True:
        found, now_s = database.count(statement), time.monotonic()
        if found and first_s is None:
            first_s = now_s
        if found >= wanted:
            return first_s or now_s, now_s
        if now_s > until_s:
            raise Failed(f"{found} of {wanted} are complete after {within_s:g} s")
        time.sleep(POLL_S)
