"""Whether a worker's memory grows with the jobs it has run, and what it leaves behind."""

from collections.abc import Iterator, Sequence
from statistics import linear_regression
from typing import Any

from bench.figure import Count, Growth
from bench.measure import Conditions, Measure, Measured
from bench.measures.probing import probed

JOBS = 100_000
QUICK_JOBS = 10_000
LIMIT_S = 240.0
MEGABYTE = 1024 * 1024


def slope(points: Sequence[tuple[float, float]]) -> float:
    """What the second half of the points gains per step to the right."""
    second_half = points[len(points) // 2 :]
    return linear_regression(*zip(*second_half, strict=True)).slope


def what_stays(conditions: Conditions) -> Iterator[Measured]:
    jobs = QUICK_JOBS if conditions.quick else JOBS
    for name, place in conditions.places.items():
        with place.fresh() as database:
            said = probed(
                "memory", url=database.url, jobs=jobs, limit_s=LIMIT_S, within_s=LIMIT_S + 90
            )
        # A quick run ends before the caches are full, so a line through it would say nothing.
        if not conditions.quick:
            yield from _growth(name, said, jobs=jobs)
        for left in ("descriptors", "threads"):
            yield Measured(f"left-{left}-{name}", Count(said[left]), jobs=jobs)


def _growth(name: str, said: dict[str, Any], *, jobs: int) -> Iterator[Measured]:
    runs_per_job = said["runs"] / jobs
    resident = slope([(runs, resident) for runs, resident, _ in said["samples"]])
    blocks = slope([(runs, blocks) for runs, _, blocks in said["samples"]])
    megabytes = resident * runs_per_job * JOBS / MEGABYTE
    yield Measured(f"memory-{name}", Growth(megabytes), jobs=jobs)
    yield Measured(f"kept-objects-{name}", Count(blocks * runs_per_job), jobs=jobs)


MEASURE = Measure("memory", what_stays)
