"""The measures, in the order of the table; one file each."""

from bench.measure import Measure
from bench.measures import (
    at_once,
    awaiting,
    celery,
    classify,
    collabiq,
    converting,
    decide,
    failing,
    grading,
    grading_main,
    guard,
    held,
    idle,
    in_transaction,
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
    at_once.MEASURE,
    in_transaction.MEASURE,
    awaiting.MEASURE,
    idle.MEASURE,
    memory.MEASURE,
    failing.MEASURE,
    held.MEASURE,
    serving.MEASURE,
    converting.MEASURE,
    celery.MEASURE,
    grading.MEASURE,
    grading_main.MEASURE,
    collabiq.MEASURE,
)
