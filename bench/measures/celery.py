"""A backlog worked off by a Celery fleet: tasks of Celery's own, and durable ones."""

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Self

from bench.database import Database, finished_at_ns
from bench.environments import PROJECT
from bench.figure import Rate, middle
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed
from bench.system import OURS
from holdfast import Submit
from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.server import PrivateRabbitmq

PEER = "Celery"
JOBS = 20_000
QUICK_JOBS = 3_000
REPEATS = 3
CHILDREN = 2
PREFETCH = {PEER: 64, OURS: 1}
"""Messages that Celery takes ahead for each child: what was fastest for each."""
LIMIT_S = 120.0
UNFINISHED = "select count(*) from holdfast.job where state <> 'complete'"
SHOP = "bench.fleets.shop"


def paces(conditions: Conditions) -> Iterator[Measured]:
    place = conditions.places.get("postgresql")
    if place is None:
        return
    jobs = QUICK_JOBS if conditions.quick else JOBS
    figures: dict[str, list[Rate]] = {OURS: [], PEER: []}
    try:
        broker = PrivateRabbitmq()
    except UnavailableError as error:
        raise Failed(str(error)) from error
    with broker:
        for turn in range(1 if conditions.quick else REPEATS):
            for system in (OURS, PEER) if turn % 2 == 0 else (PEER, OURS):
                with place.fresh() as database:
                    figures[system].append(_pace(system, database, broker.url, jobs))
    versions = {OURS: version("holdfast"), PEER: version("celery")}
    for system, rates in figures.items():
        yield Measured("drain-celery", middle(rates), jobs, system, versions[system])


def _pace(system: str, database: Database, broker_url: str, jobs: int) -> Rate:
    """Jobs per second, from the first handler's start until the last is done."""
    with tempfile.TemporaryDirectory(prefix="bench-celery-") as folder, ExitStack() as cleanup:
        pipe = Path(folder) / "runs"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        cleanup.callback(os.close, reader)
        environment = {
            "BENCH_BROKER": broker_url,
            "BENCH_DATABASE": database.url,
            "BENCH_PIPE": str(pipe),
            "BENCH_PREFETCH": str(PREFETCH[system]),
        }
        os.environ.update(environment)
        sys.modules.pop(SHOP, None)
        shop = importlib.import_module(SHOP)
        cleanup.callback(shop.jobs.close)
        if system == PEER:
            return _plain(shop, reader, jobs, environment)
        return _durable(shop, reader, jobs, environment, database)


def _plain(shop, reader: int, jobs: int, environment: Mapping[str, str]) -> Rate:
    with shop.celery.producer_or_acquire() as producer:
        for n in range(jobs):
            shop.plain.apply_async((n,), queue=shop.PLAIN, producer=producer)
    with _worker(shop.PLAIN, environment) as worker:
        first_ns, last_ns = _counted(reader, jobs, worker)
    return Rate(jobs * 1e9 / (last_ns - first_ns))


def _durable(
    shop, reader: int, jobs: int, environment: Mapping[str, str], database: Database
) -> Rate:
    shop.jobs.submit_many(
        shop.kept.pipeline, [Submit(payload={"args": [n], "kwargs": {}}) for n in range(jobs)]
    )
    database.settle()
    command = [
        *(sys.executable, "-m", "holdfast", "dispatch", "--app", f"{SHOP}:jobs"),
        *("--broker-url", environment["BENCH_BROKER"], "--exchange", "bench"),
    ]
    with (
        _worker(shop.DURABLE, environment) as worker,
        _Running(command, environment) as dispatcher,
    ):
        first_ns, _ = _counted(reader, jobs, worker, dispatcher)
        # Not before the store says so: what ran and is not kept yet is not done.
        ended_ns = finished_at_ns(database, UNFINISHED, within_s=LIMIT_S)
    return Rate(jobs * 1e9 / (ended_ns - first_ns))


def _worker(queue: str, environment: Mapping[str, str]) -> "_Running":
    return _Running(
        [
            *(sys.executable, "-m", "celery", "-A", f"{SHOP}:celery", "worker", "-Q", queue),
            *("-c", str(CHILDREN), "-l", "WARNING", "-O", "fair"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ],
        environment,
    )


class _Running:
    """A process of the fleet and what it has said, for the day on which it ends too early."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed on exit
        self._process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def check(self) -> None:
        if self._process.poll() is not None:
            raise Failed(f"a process of the fleet has ended: {self.last_lines()}")

    def last_lines(self) -> str:
        self._output.seek(0)
        return " / ".join(self._output.read().strip().splitlines()[-3:])


def _counted(reader: int, jobs: int, *running: _Running) -> tuple[int, int]:
    """When the first handler told of its run and when the last did, of this many."""
    until_ns = time.monotonic_ns() + int(LIMIT_S * 1e9)
    first_ns, runs = 0, 0
    while True:
        with suppress(BlockingIOError):
            runs += len(os.read(reader, 65_536))
        now_ns = time.monotonic_ns()
        first_ns = first_ns or (now_ns if runs else 0)
        if runs >= jobs:
            return first_ns, now_ns
        for process in running:
            process.check()
        if now_ns > until_ns:
            said = " / ".join(process.last_lines() for process in running)
            raise Failed(f"{runs} handler runs for {jobs} jobs within {LIMIT_S:g} s: {said}")
        time.sleep(0.002)


MEASURE = Measure("drain-celery", paces)
