"""What a guarded call costs over the bare one, measured in the process of whoever guards it.

Started as `measure {batches}` like the programs of `bench/systems`; it answers once, with
`measured`: name, version, and microseconds over the bare call, plain and awaited.

Only the standard library is imported here: peers run this in an environment of their own.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

from bench.program import say

CALLS_PER_BATCH = 200
WARM_UP_BATCHES = 5
ATTEMPTS = 3
WINDOW = 20
TIMEOUT_S = 30.0


def bare(n: int) -> int:
    return n


async def bare_async(n: int) -> int:
    return n


def main(
    name: str,
    version: str,
    guarded: Callable[[int], int],
    guarded_async: Callable[[int], Awaitable[int]],
) -> None:
    if guarded(7) != 7 or asyncio.run(_once(guarded_async)) != 7:
        raise SystemExit("a guarded call returned something else")
    batches = json.loads(sys.argv[2])["batches"] + WARM_UP_BATCHES
    say(
        "measured",
        name=name,
        version=version,
        plain=_over(_batches_ns(bare, guarded, batches)),
        awaited=_over(asyncio.run(_async_batches_ns(bare_async, guarded_async, batches))),
    )


async def _once(call: Callable[[int], Awaitable[int]]) -> int:
    return await call(7)


def _over(pairs: list[tuple[int, int]]) -> float:
    """The microseconds by which the second of a pair exceeds the first, per call.

    Of the fastest of each: what disturbs a batch only ever makes it slower.
    """
    bare_ns, guarded_ns = (min(took) for took in zip(*pairs[WARM_UP_BATCHES:], strict=True))
    return (guarded_ns - bare_ns) / CALLS_PER_BATCH / 1e3


def _batches_ns(
    first: Callable[[int], int], second: Callable[[int], int], batches: int
) -> list[tuple[int, int]]:
    return [(_batch_ns(first), _batch_ns(second)) for _ in range(batches)]


def _batch_ns(call: Callable[[int], int]) -> int:
    calls = range(CALLS_PER_BATCH)
    started_ns = time.perf_counter_ns()
    for n in calls:
        call(n)
    return time.perf_counter_ns() - started_ns


async def _async_batches_ns(
    first: Callable[[int], Awaitable[int]], second: Callable[[int], Awaitable[int]], batches: int
) -> list[tuple[int, int]]:
    return [(await _async_batch_ns(first), await _async_batch_ns(second)) for _ in range(batches)]


async def _async_batch_ns(call: Callable[[int], Awaitable[int]]) -> int:
    calls = range(CALLS_PER_BATCH)
    started_ns = time.perf_counter_ns()
    for n in calls:
        await call(n)
    return time.perf_counter_ns() - started_ns
