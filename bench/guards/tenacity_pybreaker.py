"""tenacity's retries around pybreaker's breaker (PyPI `tenacity`, `pybreaker`).

Neither has timeouts; the awaited call has asyncio's. pybreaker counts failures in a row.
"""

import asyncio
from importlib.metadata import version

import pybreaker
import tenacity

from bench.guards import ATTEMPTS, TIMEOUT_S, WINDOW, bare, bare_async, main

breaker = pybreaker.CircuitBreaker(fail_max=WINDOW // 2, reset_timeout=30)
retrying = tenacity.retry(
    stop=tenacity.stop_after_attempt(ATTEMPTS), wait=tenacity.wait_random_exponential(max=60)
)


@retrying
def guarded(n: int) -> int:
    return breaker.call(bare, n)


@retrying
async def guarded_async(n: int) -> int:
    with breaker.calling():
        async with asyncio.timeout(TIMEOUT_S):
            return await bare_async(n)


if __name__ == "__main__":
    versions = f"{version('tenacity')}, {version('pybreaker')}"
    main("tenacity, pybreaker", versions, guarded, guarded_async)
