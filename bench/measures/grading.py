"""Submissions graded a second, beside the same contract on plain Celery with a polled outbox."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Count, Rate, middle, size_of
from bench.grading.fleets import Ours, Plain, count_until, model
from bench.grading.history import fill
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed
from bench.system import OURS
from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.server import PrivateRabbitmq

PEER = "Celery with an outbox"
BACKLOG, QUICK_BACKLOG = 5_000, 500
SUSTAINED, QUICK_SUSTAINED = 2_000, 200
FINISHED, QUICK_FINISHED = 1_000_000, 20_000
REPEATS = 3
LIMIT_S = 240.0
WARM_UP = 20
"""Submissions that are graded before the clock starts, so that all processes run."""
KINDS = {OURS: Ours, PEER: Plain}


def gradings(conditions: Conditions) -> Iterator[Measured]:
    place = conditions.places.get("postgresql")
    if place is None:
        return
    backlog = QUICK_BACKLOG if conditions.quick else BACKLOG
    sustained = QUICK_SUSTAINED if conditions.quick else SUSTAINED
    figures: dict[tuple[str, str], list[Rate]] = {}
    try:
        broker = PrivateRabbitmq()
    except UnavailableError as error:
        raise Failed(str(error)) from error
    with broker, model() as model_url:
        for turn in range(1 if conditions.quick else REPEATS):
            for system in (OURS, PEER) if turn % 2 == 0 else (PEER, OURS):
                for name, measure, size in (
                    ("grading-backlog", _backlog, backlog),
                    ("grading-sustained", _sustained, sustained),
                ):
                    with place.fresh() as database, tempfile.TemporaryDirectory() as folder:
                        fleet = KINDS[system](database.url, broker.url, model_url, Path(folder))
                        try:
                            rate = measure(fleet, database, size)
                        finally:
                            fleet.close()
                    figures.setdefault((name, system), []).append(rate)
        with place.fresh() as database, tempfile.TemporaryDirectory() as folder:
            fleet = Ours(database.url, broker.url, model_url, Path(folder))
            try:
                fleet.submit()
                fill(database.url, QUICK_FINISHED if conditions.quick else FINISHED)
                filled = _backlog(fleet, database, backlog)
            finally:
                fleet.close()
    for (name, system), rates in figures.items():
        size = backlog if name == "grading-backlog" else sustained
        yield Measured(name, middle(rates), size, system)
    empty = middle(figures["grading-backlog", OURS])
    share = size_of(filled) / size_of(empty)
    yield Measured("grading-after-a-million", Count(share), backlog)


def _backlog(fleet, database, size: int) -> Rate:
    """Submissions are there before anything runs; the clock starts with the first result."""
    for _ in range(size):
        fleet.submit()
    database.settle()
    with fleet.running():
        first_s, last_s = count_until(database, fleet.completed, size, within_s=LIMIT_S)
    return Rate((size - 1) / (last_s - first_s))


def _sustained(fleet, database, size: int) -> Rate:
    """Submissions come one after the other while everything runs."""
    for _ in range(WARM_UP):
        fleet.submit()
    with fleet.running():
        count_until(database, fleet.completed, WARM_UP, within_s=LIMIT_S)
        began_s = time.monotonic()
        for _ in range(size):
            fleet.submit()
        _, last_s = count_until(database, fleet.completed, WARM_UP + size, within_s=LIMIT_S)
    return Rate(size / (last_s - began_s))


MEASURE = Measure("grading", gradings)
