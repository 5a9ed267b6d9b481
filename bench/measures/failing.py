"""What is left of a worker's pace with a breaker on, and with many calls failing."""

from collections.abc import Iterator
from statistics import median

from bench.database import Place
from bench.figure import Count
from bench.measure import Conditions, Measure, Measured
from bench.measures.probing import probed

JOBS = 30_000
QUICK_JOBS = 3_000
REPEATS = 7
FAILING = 0.3
LIMIT_S = 180.0


def shares_of_the_pace(conditions: Conditions) -> Iterator[Measured]:
    jobs = QUICK_JOBS if conditions.quick else JOBS
    repeats = 1 if conditions.quick else REPEATS
    for name, place in conditions.places.items():
        guarded_shares: list[float] = []
        failing_shares: list[float] = []
        for _ in range(repeats):
            # One right after the other: what slows the machine down for minutes slows down both.
            plain, guarded, failing = (
                _pace(place, jobs, guarded=guarded, failing=failing)
                for guarded, failing in ((False, 0.0), (True, 0.0), (True, FAILING))
            )
            guarded_shares.append(guarded / plain)
            failing_shares.append(failing / guarded)
        yield Measured(f"pace-guarded-{name}", Count(median(guarded_shares)), jobs=jobs)
        yield Measured(f"pace-failing-{name}", Count(median(failing_shares)), jobs=jobs)


def _pace(place: Place, jobs: int, *, guarded: bool, failing: float) -> float:
    with place.fresh() as database:
        said = probed(
            "drain",
            url=database.url,
            jobs=jobs,
            within_s=LIMIT_S,
            guarded=guarded,
            failing=failing,
        )
    return float(said["per_second"])


MEASURE = Measure("pace", shares_of_the_pace)
