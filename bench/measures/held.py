"""What claims cost while very many jobs are held behind an open breaker."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from bench.database import Database
from bench.figure import Count, percentile
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed
from holdfast import Holdfast, Pipeline, Submit
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store

HELD = 1_000_000
QUICK_HELD = 20_000
ROUNDS = 500
QUICK_ROUNDS = 100
WARM_UP_ROUNDS = 20
LIMIT = 10
CHUNK = 50_000
# The claimer leaves the routes of a shut upstream out; so do these claims.
FREE = Route("default", "free", "only")


def slower_by(conditions: Conditions) -> Iterator[Measured]:
    held = QUICK_HELD if conditions.quick else HELD
    rounds = QUICK_ROUNDS if conditions.quick else ROUNDS
    for name, place in conditions.places.items():
        with place.fresh() as empty, place.fresh() as full:
            _fill(empty, held=0, rounds=rounds)
            _fill(full, held=held, rounds=rounds)
            alone_ns, beside_ns = _claims_in_turns(empty, full, rounds=rounds)
        slower = percentile(beside_ns, 0.99) / percentile(alone_ns, 0.99)
        yield Measured(f"claims-beside-held-{name}", Count(slower), jobs=held)


def _fill(database: Database, *, held: int, rounds: int) -> None:
    """Store jobs of a free upstream, behind `held` due jobs of a shut one."""
    shut, free = (_one_stage(name) for name in ("shut", "free"))
    with Holdfast(database.url, pipelines=[shut, free]) as app:
        for start in range(0, held, CHUNK):
            app.submit_many(shut, [Submit() for _ in range(min(CHUNK, held - start))])
        app.submit_many(free, [Submit() for _ in range(LIMIT * (WARM_UP_ROUNDS + rounds))])
    database.settle()


def _claims_in_turns(
    empty: Database, full: Database, *, rounds: int
) -> tuple[list[int], list[int]]:
    """How long claims of free jobs took in each, in turns, so that noise hits both alike."""
    took_ns: tuple[list[int], list[int]] = ([], [])
    with _opened(empty) as alone, _opened(full) as beside:
        for turn in range(-WARM_UP_ROUNDS, rounds):
            pair = [(alone, took_ns[0]), (beside, took_ns[1])]
            for (store, clock), taken_ns in pair if turn % 2 == 0 else reversed(pair):
                claimed_ns = _claim_ns(store, clock)
                if turn >= 0:
                    taken_ns.append(claimed_ns)
    return took_ns


@contextmanager
def _opened(database: Database) -> Iterator[tuple[Store, Clock]]:
    with (
        Holdfast(database.url, pipelines=[_one_stage("free")]) as app,
        closing(app.store.reserve("claimer")) as store,
    ):
        yield store, app.clock


def _claim_ns(store: Store, clock: Clock) -> int:
    now = clock.now()
    began_ns = time.perf_counter_ns()
    jobs = store.claim(
        [FREE], limit=LIMIT, holder=WorkerId("bench"), lease_us=600 * SECOND_US, now=now
    )
    took_ns = time.perf_counter_ns() - began_ns
    if len(jobs) != LIMIT:
        raise Failed(f"a claim of {LIMIT} jobs returned {len(jobs)}")
    return took_ns


def _one_stage(name: str) -> Pipeline:
    pipeline = Pipeline(name)
    pipeline.stage(name="only")(lambda _job: None)
    return pipeline


MEASURE = Measure("held", slower_by)
