"""What a worker costs while there is nothing to do."""

from collections.abc import Iterator

from bench.figure import Share
from bench.measure import Conditions, Measure, Measured
from bench.measures.probing import probed

SECONDS = 10.0
QUICK_SECONDS = 3.0


def shares_of_a_core(conditions: Conditions) -> Iterator[Measured]:
    seconds = QUICK_SECONDS if conditions.quick else SECONDS
    for name, place in conditions.places.items():
        with place.fresh() as database:
            said = probed("idle", url=database.url, seconds=seconds, within_s=seconds + 60)
        yield Measured(f"idle-{name}", Share(said["percent"]), jobs=0)


MEASURE = Measure("idle", shares_of_a_core)
