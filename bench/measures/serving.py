"""How long requests take while a worker drains jobs and many look on."""

import asyncio
import sys
from collections.abc import Iterator

from bench.environments import Command
from bench.figure import Count, tail_of
from bench.load import Load, put_on
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed, Process

STREAMS = 50
PER_SECOND = 200
SECONDS = 20.0
QUICK_SECONDS = 3.0
BACKLOG = 20_000
QUICK_BACKLOG = 2_000
"""How many jobs there are to drain besides those that are submitted meanwhile."""
START_S = 60.0
SERVE = Command((sys.executable, "-m", "bench.probe"), {})


def waits_for_answers(conditions: Conditions) -> Iterator[Measured]:
    seconds = QUICK_SECONDS if conditions.quick else SECONDS
    backlog = QUICK_BACKLOG if conditions.quick else BACKLOG
    for name, place in conditions.places.items():
        with place.fresh() as database:
            load = served(database.url, seconds=seconds, backlog=backlog)
        requests = len(load.waits_ns)
        if not requests:
            raise Failed(f"no request was answered: {load.failures[:3]}")
        yield Measured(f"serving-{name}", tail_of(load.waits_ns), jobs=requests)
        yield Measured(f"requests-failed-{name}", Count(len(load.failures)), jobs=requests)
        yield Measured(f"streams-failed-{name}", Count(load.deaf), jobs=len(load.streams))


def served(url: str, *, seconds: float, backlog: int) -> Load:
    """The load put on a process that serves the API and runs a worker."""
    with Process(SERVE, "serve", {"url": url, "backlog": backlog}) as process:
        said = process.expect("serving", within_s=START_S)
        return asyncio.run(
            put_on(
                said["address"],
                token=said["token"],
                streams=STREAMS,
                per_second=PER_SECOND,
                seconds=seconds,
                pipeline="calls",
            )
        )


MEASURE = Measure("serving", waits_for_answers)
