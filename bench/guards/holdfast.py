"""holdfast's guard: breaker, retries and timeout."""

from importlib.metadata import version

from bench.guards import ATTEMPTS, TIMEOUT_S, WINDOW, bare, bare_async, main
from holdfast import Breaker, Guard, Retry

guard = Guard(
    "upstream",
    breaker=Breaker(failure_rate=0.5, over_calls=WINDOW),
    timeout=TIMEOUT_S,
    retry=Retry(attempts=ATTEMPTS),
)

if __name__ == "__main__":
    main("holdfast", version("holdfast"), guard(bare), guard(bare_async))
