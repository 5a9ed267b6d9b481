"""Submissions that are awaited, beside blocking ones, and results that are waited for."""

import sys
from collections.abc import Iterator

from bench.environments import Command
from bench.figure import Count, Rate, Tail, delay_of, percentile
from bench.measure import Conditions, Measure, Measured
from bench.process import Process

PROGRAM = Command((sys.executable, "-m", "bench.awaiting"), {})
CALLS = 2_000
RESULTS = 150
WITHIN_S = 120


def awaited_and_waited_for(conditions: Conditions) -> Iterator[Measured]:
    calls = CALLS // 5 if conditions.quick else CALLS
    results = RESULTS // 3 if conditions.quick else RESULTS
    for name, place in conditions.places.items():
        with place.fresh() as database:
            yield from _submissions(name, database.url, calls)
        with place.fresh() as database:
            yield from _results(name, database.url, results)


def _submissions(name: str, url: str, calls: int) -> Iterator[Measured]:
    with Process(PROGRAM, "submit", {"url": url, "calls": calls}) as process:
        said = process.expect("measured", within_s=WITHIN_S)
    yield Measured(f"submit-blocking-{name}", Rate(said["blocking"]), jobs=calls)
    yield Measured(f"submit-awaited-{name}", Rate(said["awaited"]), jobs=calls)
    yield Measured(f"submit-awaited-at-once-{name}", Rate(said["at_once"]), jobs=calls)
    yield Measured(f"awaited-share-{name}", Count(said["awaited"] / said["blocking"]), jobs=calls)
    kept_ms = [each * 1e3 for each in said["kept_s"]]
    yield Measured(
        f"loop-kept-{name}",
        Tail(percentile(kept_ms, 0.5), percentile(kept_ms, 0.99)),
        jobs=calls,
    )


def _results(name: str, url: str, calls: int) -> Iterator[Measured]:
    with (
        Process(PROGRAM, "work", {"url": url}) as worker,
        Process(PROGRAM, "result", {"url": url, "calls": calls}) as caller,
    ):
        worker.expect("ready", within_s=WITHIN_S)
        said = caller.expect("measured", within_s=WITHIN_S)
    picked_up, returned = delay_of(said["picked_up_ns"]), delay_of(said["returned_ns"])
    yield Measured(f"result-{name}", returned, jobs=calls)
    ratio = returned.milliseconds / picked_up.milliseconds
    yield Measured(f"result-by-pick-up-{name}", Count(ratio), jobs=calls)


MEASURE = Measure("awaiting", awaited_and_waited_for)
