"""What calls cost the processor, on a machine that others use as well."""

import time
from collections.abc import Callable, Mapping

from bench.figure import Cost

WARM_UP_BATCHES = 5


def costs_of(
    calls: Mapping[str, Callable[[], object]], *, per_batch: int, batches: int
) -> dict[str, Cost]:
    """Time batches of calls in turns, and take the fastest of each kind.

    What disturbs a batch only ever makes it slower, and what lasts longer than a batch does not
    meet one kind alone.
    """
    took_ns: dict[str, list[int]] = {name: [] for name in calls}
    for _ in range(WARM_UP_BATCHES + batches):
        for name, call in calls.items():
            took_ns[name].append(_batch_ns(call, per_batch))
    return {
        name: Cost(min(took[WARM_UP_BATCHES:]) / per_batch / 1e3) for name, took in took_ns.items()
    }


def _batch_ns(call: Callable[[], object], calls: int) -> int:
    times = range(calls)
    started_ns = time.perf_counter_ns()
    for _ in times:
        call()
    return time.perf_counter_ns() - started_ns
