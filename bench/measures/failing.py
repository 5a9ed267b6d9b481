"""What is left of a worker's pace with a breaker on, and with many calls failing."""

from collections.abc import Iterator

from bench.figure import Count
from bench.measure import Conditions, Measure, Measured
from bench.measures.probing import probed

JOBS = 40_000
QUICK_JOBS = 3_000
REPEATS = 5
FAILING = 0.3
LIMIT_S = 180.0


def shares_of_the_pace(conditions: Conditions) -> Iterator[Measured]:
    jobs = QUICK_JOBS if conditions.quick else JOBS
    repeats = 1 if conditions.quick else REPEATS
    for name, place in conditions.places.items():
        paces: dict[str, list[float]] = {"plain": [], "guarded": [], "failing": []}
        for _ in range(repeats):
            # In turns, so that what slows the machine down slows all of them down.
            for kind, options in (
                ("plain", {"guarded": False, "failing": 0.0}),
                ("guarded", {"guarded": True, "failing": 0.0}),
                ("failing", {"guarded": True, "failing": FAILING}),
            ):
                with place.fresh() as database:
                    said = probed("drain", url=database.url, jobs=jobs, within_s=LIMIT_S, **options)
                paces[kind].append(said["per_second"])
        # The best of each: what disturbs a run of a second or two only ever makes it slower.
        plain, guarded, failing = (max(paces[kind]) for kind in ("plain", "guarded", "failing"))
        yield Measured(f"pace-guarded-{name}", Count(guarded / plain), jobs=jobs)
        yield Measured(f"pace-failing-{name}", Count(failing / guarded), jobs=jobs)


MEASURE = Measure("pace", shares_of_the_pace)
