"""From submit to start on an idle worker, where the caller commits and not holdfast."""

import sys
from collections.abc import Iterator

from bench.environments import Command
from bench.measure import Conditions, Measure, Measured
from bench.process import Process
from bench.workload import pick_up

WORKER = Command((sys.executable, "-m", "bench.systems.holdfast"), {})
CALLER = Command((sys.executable, "-m", "bench.callers"), {})
SAMPLES = 150
QUICK_SAMPLES = 60


def waits_in_transactions(conditions: Conditions) -> Iterator[Measured]:
    place = conditions.places.get("postgresql")
    if place is None:
        return
    samples = QUICK_SAMPLES if conditions.quick else SAMPLES
    with place.fresh() as database:
        url = {"url": database.url}
        with Process(WORKER, "answer", url) as worker, Process(CALLER, "ask", url) as caller:
            delay = pick_up(worker, caller, samples)
    yield Measured("latency-in-transaction", delay, jobs=samples)


MEASURE = Measure("latency-in-transaction", waits_in_transactions)
