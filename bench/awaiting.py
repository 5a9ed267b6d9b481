"""A program that submits from a coroutine and waits for results, in a process of its own.

Started as `VERB OPTIONS` like the programs of `bench/systems`; it answers in the same way:

    submit  {url, calls}  measured  submissions a second: blocking, awaited one by one, and awaited
                                    by `CALLERS` tasks at once, with how long the loop was kept
    result  {url, calls}  measured  picked_up_ns and returned_ns of each job, from its submission to
                                    the start of its handler and to its result
    work    {url}         ready, then runs a worker until standard input closes
"""

import asyncio
import json
import sys
import time
from typing import Any

from bench.program import say
from holdfast import Holdfast
from holdfast.engine.functions import JobFunction

CALLERS = 8
WARM_UP = 100
TURN_S = 0.001
"""What a task sleeps to see whether the loop comes back to it in time."""


def opened(url: str) -> tuple[Holdfast, JobFunction[[int], int]]:
    app = Holdfast(url)

    @app.job
    async def begun_at(n: int) -> int:  # noqa: ARG001 - so that payloads differ
        return time.monotonic_ns()

    return app, begun_at


def submit(*, url: str, calls: int) -> None:
    app, function = opened(url)
    with app:
        later = function.using(delay=3600)
        for n in range(WARM_UP):
            later.submit(n)
        began_s = time.monotonic()
        for n in range(calls):
            later.submit(n)
        blocking = calls / (time.monotonic() - began_s)
        awaited, at_once, kept_s = asyncio.run(_awaited(later, calls))
    say("measured", blocking=blocking, awaited=awaited, at_once=at_once, kept_s=kept_s)


async def _awaited(
    function: JobFunction[[int], int], calls: int
) -> tuple[float, float, list[float]]:
    async def several(count: int) -> None:
        for n in range(count):
            await function.asubmit(n)

    await several(WARM_UP)
    began_s = time.monotonic()
    await several(calls)
    one_by_one = calls / (time.monotonic() - began_s)
    kept_s: list[float] = []
    watching = asyncio.create_task(_watched(kept_s))
    began_s = time.monotonic()
    await asyncio.gather(*(several(calls // CALLERS) for _ in range(CALLERS)))
    at_once = calls // CALLERS * CALLERS / (time.monotonic() - began_s)
    watching.cancel()
    return one_by_one, at_once, kept_s


async def _watched(kept_s: list[float]) -> None:
    """Note by how much the loop is late, again and again."""
    while True:
        due_s = time.monotonic() + TURN_S
        await asyncio.sleep(TURN_S)
        kept_s.append(time.monotonic() - due_s)


def result(*, url: str, calls: int) -> None:
    app, function = opened(url)
    picked_up_ns, returned_ns = [], []
    with app:
        for n in range(WARM_UP // 10 + calls):
            submitted_ns = time.monotonic_ns()
            began_ns = function.submit(n).result(timeout=30)
            returned_ns.append(time.monotonic_ns() - submitted_ns)
            picked_up_ns.append(began_ns - submitted_ns)
            time.sleep(0.01)  # the worker is idle again when the next one comes
    say("measured", picked_up_ns=picked_up_ns[-calls:], returned_ns=returned_ns[-calls:])


def work(*, url: str) -> None:
    app, _ = opened(url)
    with app:
        worker = app.worker()
        worker.start()
        say("ready")
        sys.stdin.read()
        worker.drain()


VERBS: dict[str, Any] = {"submit": submit, "result": result, "work": work}

if __name__ == "__main__":
    VERBS[sys.argv[1]](**json.loads(sys.argv[2]))
