"""What a workload is, and the three ways of measuring that the workloads share."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bench.database import Database, finished_at_ns
from bench.figure import Delay, Figure, Rate, delay_of
from bench.process import Failed, Process
from bench.program import WARM_UP_SUBMISSIONS
from bench.system import System

Shape = Literal["one", "three"]

FILL_PER_CALL = 1000
STEP_LIMIT_S = 120.0
IDLE_S = (0.010, 0.020)
UNCOUNTED_ASKS = 10
ASKING_LIMIT_S = 12.0


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """One line of the table for each system that can do it."""

    name: str
    store: Literal["postgresql", "sqlite", "sqlite-tmpfs"]
    jobs: int
    quick_jobs: int
    measure: Callable[[System, Database, int], Figure]
    jobs_of: Mapping[str, int] = field(default_factory=dict)
    """Fewer jobs for the systems that would take minutes; smaller tables do not slow them."""

    def jobs_for(self, system: System, *, quick: bool) -> int:
        jobs = self.jobs_of.get(system.name, self.jobs)
        return min(jobs, max(self.quick_jobs * jobs // self.jobs, 1)) if quick else jobs


def drain(shape: Shape) -> Callable[[System, Database, int], Rate]:
    """Jobs per second, from the first handler's start until the tables show all jobs finished."""

    def measure(system: System, database: Database, jobs: int) -> Rate:
        system.do("prepare", "prepared", url=database.url, within_s=STEP_LIMIT_S)
        _fill(system, database, shape=shape, jobs=jobs)
        database.settle()
        with system.start("work", url=database.url, shape=shape, jobs=jobs) as worker:
            ran = worker.expect("ran", within_s=STEP_LIMIT_S)
            ended_ns = finished_at_ns(
                database, system.unfinished(database.url), within_s=STEP_LIMIT_S
            )
            runs = worker.stop()["runs"]
        if runs != jobs:
            raise Failed(f"{runs} handler runs for {jobs} jobs")
        finished = system.finished(database.url)
        if finished is not None and (done := database.count(finished)) != jobs:
            raise Failed(f"{done} jobs finished well of {jobs}")
        return Rate(jobs * 1e9 / (ended_ns - ran["first_ns"]))

    return measure


def submit(*, per_call: int) -> Callable[[System, Database, int], Rate]:
    """Jobs per second that one process submits on one connection."""

    def measure(system: System, database: Database, jobs: int) -> Rate:
        system.do("prepare", "prepared", url=database.url, within_s=STEP_LIMIT_S)
        database.settle()
        submitted = system.do(
            "submit",
            "submitted",
            url=database.url,
            shape="one",
            jobs=jobs,
            per_call=per_call,
            within_s=STEP_LIMIT_S,
        )
        expected = jobs + (WARM_UP_SUBMISSIONS if per_call == 1 else 0)
        if (stored := database.count(system.unfinished(database.url))) != expected:
            raise Failed(f"{stored} jobs stored of {expected}")
        return Rate(jobs / submitted["seconds"])

    return measure


def latency(system: System, database: Database, samples: int) -> Delay:
    """From the start of the submit call to the start of the handler in another, idle process."""
    system.do("prepare", "prepared", url=database.url, within_s=STEP_LIMIT_S)
    with (
        system.start("answer", url=database.url) as worker,
        system.start("ask", url=database.url) as asker,
    ):
        return pick_up(worker, asker, samples)


def pick_up(worker: Process, asker: Process, samples: int) -> Delay:
    """How long jobs that `asker` submits, one by one, wait for the idle `worker`."""
    idle = random.Random(samples)
    waits_ns: list[int] = []
    asker.expect("ready", within_s=STEP_LIMIT_S)
    deadline = time.monotonic() + ASKING_LIMIT_S
    while len(waits_ns) < samples + UNCOUNTED_ASKS and time.monotonic() < deadline:
        asker.ask()
        waits_ns.append(worker.expect("started", within_s=STEP_LIMIT_S)["waited_ns"])
        time.sleep(idle.uniform(*IDLE_S))
    runs = worker.stop()["runs"]
    if runs != len(waits_ns):
        raise Failed(f"{runs} handler runs for {len(waits_ns)} jobs")
    return delay_of(waits_ns[UNCOUNTED_ASKS:])


def _fill(system: System, database: Database, *, shape: Shape, jobs: int) -> None:
    system.do(
        "submit",
        "submitted",
        url=database.url,
        shape=shape,
        jobs=jobs,
        per_call=FILL_PER_CALL,
        within_s=STEP_LIMIT_S,
    )
    if (stored := database.count(system.unfinished(database.url))) != jobs:
        raise Failed(f"{stored} jobs stored of {jobs}")
