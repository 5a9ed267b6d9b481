"""What a guarded call that succeeds costs over the bare one, beside what others take for it."""

from collections.abc import Iterator
from typing import Any

from bench.environments import BENCH, CannotInstall, command_for
from bench.figure import Cost
from bench.guards import CALLS_PER_BATCH
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed, Process
from bench.system import OURS

PEERS = ("tenacity_pybreaker",)
BATCHES = 300
QUICK_BATCHES = 30
LIMIT_S = 120.0
KINDS = {"guard-call": "plain", "guard-await": "awaited"}


def costs_of_guarded_calls(conditions: Conditions) -> Iterator[Measured]:
    batches = QUICK_BATCHES if conditions.quick else BATCHES
    said = [measured(OURS, batches=batches)]
    why: Failed | None = None
    for peer in PEERS:
        try:
            said.append(measured(peer, batches=batches))
        except (CannotInstall, Failed) as reason:
            why = Failed(f"{peer}: {reason}")
    for workload, kind in KINDS.items():
        for each in said:
            yield Measured(
                workload,
                Cost(each[kind]),
                jobs=batches * CALLS_PER_BATCH,
                system=each["name"],
                version=each["version"],
            )
    if why is not None:
        raise why


def measured(program: str, *, batches: int) -> dict[str, Any]:
    """What a program of `bench/guards` says of itself, in a process of its own."""
    command = command_for(BENCH / "guards" / f"{program}.py", print)
    with Process(command, "measure", {"batches": batches}) as process:
        return process.expect("measured", within_s=LIMIT_S)


MEASURE = Measure("guard", costs_of_guarded_calls)
