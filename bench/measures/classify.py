"""What it costs to make a failure of an exception: its class, and words that can be kept."""

from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace

from bench.cost import costs_of
from bench.measure import Conditions, Measure, Measured
from holdfast.classify import classify
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import GiveUp

CALLS_PER_BATCH = 50
BATCHES = 400
QUICK_BATCHES = 40
DEPTH = 8

NOW = Instant(1_700_000_000 * SECOND_US)


class RefusedByServer(Exception):
    """An answer of an upstream, as HTTP libraries raise it."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"{status} from https://letters.example/send: try again later")
        self.response = SimpleNamespace(status_code=status, headers=headers)


def _raised_deep(make: Callable[[], Exception], depth: int = DEPTH) -> None:
    if depth:
        _raised_deep(make, depth - 1)
    raise make()


def raised(make: Callable[[], Exception]) -> Exception:
    """The exception as a handler some calls deep would have raised it."""
    try:
        _raised_deep(make)
    except Exception as exception:  # noqa: BLE001 - whatever was made
        return exception
    raise AssertionError("nothing was raised")


CASES: dict[str, tuple[Callable[[], Exception], str]] = {
    "timeout": (lambda: TimeoutError("no answer within 30 s"), "NETWORK_TIMEOUT"),
    "http-503": (lambda: RefusedByServer(503, **{"retry-after": "7"}), "UPSTREAM_5XX"),
    "http-401": (lambda: RefusedByServer(401), "AUTH_DENIED"),
    "give-up": (lambda: GiveUp("NO_SUCH_ADDRESS", "the letter came back"), "NO_SUCH_ADDRESS"),
    "bug": (lambda: KeyError("address"), "BUG"),
    "unknown": (lambda: type("NeverSeen", (Exception,), {})("whatever"), "BUG"),
}
"""An exception, and the error class it has to get."""


def costs_of_classification(conditions: Conditions) -> Iterator[Measured]:
    batches = QUICK_BATCHES if conditions.quick else BATCHES
    calls = {f"classify-{name}": _classifying(name, *case) for name, case in CASES.items()}
    for name, cost in costs_of(calls, per_batch=CALLS_PER_BATCH, batches=batches).items():
        yield Measured(name, cost, jobs=batches * CALLS_PER_BATCH)


def _classifying(
    name: str, make: Callable[[], Exception], error_class: str
) -> Callable[[], Failure]:
    exception = raised(make)
    found = classify(exception, now=NOW).error_class
    if found != error_class:
        raise ValueError(f"the case {name!r} is classified as {found}")
    return partial(classify, exception, now=NOW)


MEASURE = Measure("classify", costs_of_classification)
