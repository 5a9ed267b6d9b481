"""What one submission takes, as the caller sees it."""

from collections.abc import Iterator
from statistics import median

from bench.figure import Cost
from bench.measure import Conditions, Measure, Measured
from bench.measures.probing import probed

CALLS = 3_000
QUICK_CALLS = 300


def costs_of_submissions(conditions: Conditions) -> Iterator[Measured]:
    calls = QUICK_CALLS if conditions.quick else CALLS
    for name, place in conditions.places.items():
        with place.fresh() as database:
            said = probed("submit", url=database.url, calls=calls, within_s=120)
        yield Measured(f"submit-call-{name}", Cost(median(said["took_ns"]) / 1e3), jobs=calls)


MEASURE = Measure("submit-call", costs_of_submissions)
