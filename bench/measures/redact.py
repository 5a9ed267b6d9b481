"""What it costs to take the secrets out of a text that was never seen before."""

import time
from collections.abc import Iterator
from hashlib import sha256
from statistics import median

from bench.figure import Cost
from bench.measure import Conditions, Measure, Measured
from holdfast.core.redaction import Redactor

CALLS_PER_BATCH = 10
BATCHES = 100
QUICK_BATCHES = 10
WARM_UP_BATCHES = 3
KNOWN = tuple(sha256(b"%d" % number).hexdigest()[:32] for number in range(20))

# Put together here, so that no scanner takes it for a real one.
SECRET = "sk" + "_live_" + "k9Zx3QvT7bNw2RfLp8YcHs4J"
FRAMES = "".join(
    f'  File "/app/src/stage_{number}.py", line {number}, in convert\n'
    f"    call(job.key, timeout={number})\n"
    for number in range(60)
)
CASES: dict[str, str] = {
    "traceback-4-kb": (FRAMES + f"ValueError: bad key {SECRET}\n")[-4096:],
    "message": f"503 from https://letters.example/send?token={SECRET}: try again later",
}


def costs_of_redaction(conditions: Conditions) -> Iterator[Measured]:
    batches = QUICK_BATCHES if conditions.quick else BATCHES
    redactor = Redactor(known_values=KNOWN)
    for name, text in CASES.items():
        if SECRET in redactor.text(text):
            raise ValueError(f"the case {name!r} keeps its secret")
        took_ns = [_batch_ns(redactor, text) for _ in range(WARM_UP_BATCHES + batches)]
        microseconds = median(took_ns[WARM_UP_BATCHES:]) / CALLS_PER_BATCH / 1e3
        yield Measured(f"redact-{name}", Cost(microseconds), jobs=batches * CALLS_PER_BATCH)


def _batch_ns(redactor: Redactor, text: str) -> int:
    calls = range(CALLS_PER_BATCH)
    started_ns = time.perf_counter_ns()
    for _ in calls:
        redactor.text(text)
    return time.perf_counter_ns() - started_ns


MEASURE = Measure("redact", costs_of_redaction)
