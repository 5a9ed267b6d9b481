"""The measures, in the order of the table; one file each."""

from bench.measure import Measure
from bench.measures import decide, failing, held, idle, memory, submit_call

MEASURES: tuple[Measure, ...] = (
    decide.MEASURE,
    submit_call.MEASURE,
    idle.MEASURE,
    memory.MEASURE,
    failing.MEASURE,
    held.MEASURE,
)
