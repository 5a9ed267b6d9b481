"""What it costs to take the secrets out of a text that was never seen before."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from bench.cost import costs_of
from bench.measure import Conditions, Measure, Measured
from holdfast.redaction import Redactor

CALLS_PER_BATCH = 10
BATCHES = 100
QUICK_BATCHES = 10
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
    calls = {f"redact-{name}": partial(redactor.text, text) for name, text in CASES.items()}
    for name, cost in costs_of(calls, per_batch=CALLS_PER_BATCH, batches=batches).items():
        yield Measured(name, cost, jobs=batches * CALLS_PER_BATCH)


MEASURE = Measure("redact", costs_of_redaction)
