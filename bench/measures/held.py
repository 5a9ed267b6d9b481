"""What claims cost while very many jobs are held behind an open breaker."""

import time
from collections.abc import Iterator

from bench.database import Database
from bench.figure import Count, percentile
from bench.measure import Conditions, Measure, Measured
from holdfast import Holdfast, Pipeline, Submit
from holdfast.core.instant import SECOND_US
from holdfast.core.job import WorkerId
from holdfast.core.plan import Route

HELD = 1_000_000
QUICK_HELD = 20_000
ROUNDS = 200
LIMIT = 10
CHUNK = 50_000


def slower_by(conditions: Conditions) -> Iterator[Measured]:
    held = QUICK_HELD if conditions.quick else HELD
    for name, place in conditions.places.items():
        with place.fresh() as database:
            before = _claim_p99_ns(database, held=0)
        with place.fresh() as database:
            beside = _claim_p99_ns(database, held=held)
        yield Measured(f"claims-beside-held-{name}", Count(beside / before), jobs=held)


def _claim_p99_ns(database: Database, *, held: int) -> float:
    """The slow end of claims of free jobs, with `held` due jobs of a shut upstream beside them."""
    shut, free = Pipeline("shut"), Pipeline("free")
    for pipeline in (shut, free):
        pipeline.stage(name="only")(lambda _job: None)
    with Holdfast(database.url, pipelines=[shut, free]) as app:
        for start in range(0, held, CHUNK):
            count = min(CHUNK, held - start)
            app.submit_many(shut, [Submit() for _ in range(count)])
        app.submit_many(free, [Submit() for _ in range(LIMIT * (ROUNDS + 20))])
        database.settle()
        with_plans = app.store.reserve("claimer")
        took_ns = []
        for _ in range(ROUNDS + 20):
            now = app.clock.now()
            began_ns = time.perf_counter_ns()
            # The claimer leaves the routes of a shut upstream out; so does this.
            jobs = with_plans.claim(
                [Route("default", "free", "only")],
                limit=LIMIT,
                holder=WorkerId("bench"),
                lease_us=600 * SECOND_US,
                now=now,
            )
            took_ns.append(time.perf_counter_ns() - began_ns)
            assert len(jobs) == LIMIT
        with_plans.close()
    return percentile(took_ns[20:], 0.99)


MEASURE = Measure("held", slower_by)
