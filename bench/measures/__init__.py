"""The measures, in the order of the table; one file each."""

from bench.measure import Measure
from bench.measures import (
    celery,
    classify,
    converting,
    decide,
    failing,
    guard,
    held,
    idle,
    memory,
    redact,
    serving,
    submit_call,
)

MEASURES: tuple[Measure, ...] = (
    decide.MEASURE,
    classify.MEASURE,
    redact.MEASURE,
    guard.MEASURE,
    submit_call.MEASURE,
    idle.MEASURE,
    memory.MEASURE,
    failing.MEASURE,
    held.MEASURE,
    serving.MEASURE,
    converting.MEASURE,
    celery.MEASURE,
)
