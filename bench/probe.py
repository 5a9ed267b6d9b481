"""holdfast as a program of its own process, for what only the inside of one shows.

Started as `VERB OPTIONS` like the programs of `bench/systems`; it answers in the same way:

    idle    {url, seconds}        measured  percent of one core that an idle worker takes
    submit  {url, calls}          measured  took_ns of every single submission
    memory  {url, jobs, limit_s}  measured  runs, samples [[runs, resident bytes, live blocks]…],
                                            and how many descriptors and threads more there are
                                            in the end, with the stopped worker still at hand
    drain   {url, jobs, guarded, failing}
                                  measured  per_second of jobs whose calls fail in that share
    serve   {url, backlog}        serving   address and token of an API, in the process of a worker
                                            that drains jobs, until standard input closes
"""

import asyncio
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from bench.program import WARM_UP_SUBMISSIONS, say
from holdfast import Holdfast, JobContext, Pipeline, Retry, Submit, Upstream
from holdfast.api import ApiOptions, Server, create_api
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.values.role import Role
from holdfast.runtime.kernel.process_tuning import tune_process
from holdfast.workers import WorkerOptions

CONCURRENCY = 24
SETTLE_S = 2.0
SAMPLE_EVERY_RUNS = 500
FED_AT_ONCE = 2_000
END_LIMIT_S = 60.0
CALL_S = 0.1
PROCESS = Path("/proc/self")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class HalfFail:
    """A pipeline in which every other job fails, after one retry, and what its handlers saw."""

    def __init__(self, jobs: int) -> None:
        self.samples: list[tuple[int, int, int]] = []
        self.runs = 0
        self._runs_to_come = jobs + jobs // 2
        self._all_ran = threading.Event()
        self.pipeline = Pipeline("half", retry=Retry(attempts=2, base=0.0))
        self.pipeline.stage(self.work)

    async def work(self, _job: JobContext, n: int) -> dict[str, int]:
        self.runs += 1
        if self.runs % SAMPLE_EVERY_RUNS == 0:
            self.samples.append((self.runs, resident_bytes(), sys.getallocatedblocks()))
        if self.runs == self._runs_to_come:
            self._all_ran.set()
        if n % 2:
            raise ConnectionError(f"the upstream hung up on job {n}")
        return {"n": n}

    def wait(self, limit_s: float) -> None:
        if not self._all_ran.wait(limit_s):
            raise SystemExit(f"{self.runs} of {self._runs_to_come} runs after {limit_s:g} s")

    def feed(self, app: Holdfast, jobs: int, *, limit_s: float) -> None:
        """Submit jobs as they are worked off, so that first attempts and others stay mixed.

        Were all there from the start, second attempts, which end in dead letters, would come last.
        """
        give_up_at = time.monotonic() + limit_s
        for start in range(0, jobs, FED_AT_ONCE):
            while self.runs < 1.5 * (start - FED_AT_ONCE) and time.monotonic() < give_up_at:
                time.sleep(0.01)
            batch = range(start, min(start + FED_AT_ONCE, jobs))
            app.submit_many(self.pipeline, (Submit(payload={"n": n}) for n in batch))


def resident_bytes() -> int:
    return int((PROCESS / "statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES


def held() -> tuple[int, int]:
    """How many descriptors and threads this process has."""
    gc.collect()
    return len([*(PROCESS / "fd").iterdir()]), len([*(PROCESS / "task").iterdir()])


def idle(*, url: str, seconds: float) -> None:
    chosen = HalfFail(0).pipeline
    with Holdfast(url, pipelines=[chosen]) as app:
        worker = app.worker(options=WorkerOptions(concurrency=CONCURRENCY))
        worker.start()
        time.sleep(SETTLE_S)
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        time.sleep(seconds)
        cpu_s = time.process_time() - began_cpu_s
        elapsed_s = time.monotonic() - began_s
        worker.request_stop()
        worker.drain()
    say("measured", percent=100 * cpu_s / elapsed_s)


def submit(*, url: str, calls: int) -> None:
    chosen = HalfFail(0).pipeline
    took_ns: list[int] = []
    with Holdfast(url, pipelines=[chosen]) as app:
        for n in range(WARM_UP_SUBMISSIONS + calls):
            started_ns = time.perf_counter_ns()
            app.submit(chosen, {"n": n})
            took_ns.append(time.perf_counter_ns() - started_ns)
    say("measured", took_ns=took_ns[WARM_UP_SUBMISSIONS:])


def memory(*, url: str, jobs: int, limit_s: float) -> None:
    before = held()
    load = HalfFail(jobs)
    with Holdfast(url, pipelines=[load.pipeline]) as app:
        worker = app.worker(options=WorkerOptions(concurrency=CONCURRENCY))
        worker.start()
        load.feed(app, jobs, limit_s=limit_s)
        load.wait(limit_s)
        _wait_until_empty(app)
        worker.request_stop()
        if worker.drain() != 0:
            raise SystemExit("the worker did not end cleanly")
    descriptors, threads = (now - then for now, then in zip(held(), before, strict=True))
    say(
        "measured",
        runs=load.runs,
        samples=load.samples,
        descriptors=descriptors,
        threads=threads,
    )


def _roll(n: int, attempt: int) -> float:
    """From 0 to 1, evenly over jobs and over attempts, and the same in every run."""
    return hash((n, attempt)) % 10_007 / 10_007


def drain(*, url: str, jobs: int, guarded: bool, failing: float) -> None:
    """Work jobs off whose calls fail in the given share; every one succeeds in the end."""
    done = threading.Event()
    left = jobs
    breaker = Breaker(failure_rate=0.9, over_calls=100)
    chosen = Pipeline("calls", retry=Retry(attempts=100, base=0.0))

    async def work(job: JobContext, n: int) -> None:
        nonlocal left
        if _roll(n, job.attempt) < failing:
            raise ConnectionError(f"the upstream hung up on job {n}")
        left -= 1
        if not left:
            done.set()

    chosen.stage(calls=Upstream("calls", breaker=breaker) if guarded else None)(work)
    with Holdfast(url, pipelines=[chosen]) as app:
        app.submit_many(chosen, (Submit(payload={"n": n}) for n in range(jobs)))
        worker = app.worker(options=WorkerOptions(concurrency=CONCURRENCY))
        tune_process()  # as the command `holdfast worker` does
        began_s = time.monotonic()
        worker.start()
        if not done.wait(END_LIMIT_S * 2):
            raise SystemExit(f"{left} of {jobs} jobs are left")
        _wait_until_empty(app)
        took_s = time.monotonic() - began_s
        worker.request_stop()
        worker.drain()
    say("measured", per_second=jobs / took_s)


def serve(*, url: str, backlog: int) -> None:
    """Serve the API and run a worker in one process, as `holdfast up` does."""
    chosen = Pipeline("calls")

    async def work(_job: JobContext, n: int) -> dict[str, int]:
        await asyncio.sleep(CALL_S)
        return {"n": n}

    chosen.stage(work)
    with Holdfast(url, pipelines=[chosen]) as app:
        app.submit_many(chosen, (Submit(payload={"n": n}) for n in range(backlog)))
        _, token = app.tokens.create("bench", role=Role.OPERATOR, by="bench")
        options = ApiOptions(host="127.0.0.1")
        server = Server(create_api(app, options=options), options=options)
        worker = app.worker(options=WorkerOptions(concurrency=CONCURRENCY))
        tune_process()  # as the command `holdfast worker` does
        server.start()
        worker.start()
        say("serving", address=server.address, token=token)
        sys.stdin.read()
        server.request_stop()
        worker.request_stop()
        server.wait()
        worker.drain()


def _wait_until_empty(app: Holdfast) -> None:
    give_up_at = time.monotonic() + END_LIMIT_S
    while any(queue.active for queue in app.queues()):
        if time.monotonic() > give_up_at:
            raise SystemExit(f"jobs are left {END_LIMIT_S:g} s after the last one ran")
        time.sleep(0.01)


VERBS: dict[str, Any] = {
    "idle": idle,
    "submit": submit,
    "memory": memory,
    "drain": drain,
    "serve": serve,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](**json.loads(sys.argv[2]))
