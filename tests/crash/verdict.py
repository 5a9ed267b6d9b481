"""What must be true of jobs and their handlers after any fault."""

from collections import Counter
from collections.abc import Sequence

from holdfast.core.job.decision import Kind
from tests.crash import program
from tests.crash.fleet import Fleet

STAGES = ("one", "two", "three")
_ENDS_STAGE = (Kind.ADVANCED, Kind.COMPLETED)


def assert_steps_done(fleet: Fleet, jobs: Sequence[str]) -> None:
    """The jobs returned what they return when nothing goes wrong, by stages run in order."""
    for number, job in enumerate(jobs, start=1):
        view = fleet.app.job(job)
        assert view.result == program.result_of_steps(number)
        assert fleet.app.results(job) == {
            "one": number + 1,
            "two": (number + 1) * 10,
            "three": view.result,
        }


def assert_no_stage_repeated(fleet: Fleet, *, extra: int = 0) -> None:
    """No stage ran again once its result was stored, nor more than `extra` times too often."""
    order = {stage: place for place, stage in enumerate(STAGES)}
    furthest: dict[str, int] = {}
    for execution in fleet.executions():
        place = order.get(execution.stage, 0)
        assert place >= furthest.get(execution.job, 0), f"a finished stage ran again: {execution}"
        furthest[execution.job] = place
    times = Counter((execution.job, execution.stage) for execution in fleet.executions())
    assert {key: count for key, count in times.items() if count > 1 + extra} == {}


def assert_ledgers_agree(fleet: Fleet, jobs: Sequence[str]) -> None:
    """Each stage ended once, within its budget, and no attempt after that one was run."""
    for job in jobs:
        ended: dict[str, int] = {}
        for line in fleet.app.store.ledger(job):
            if line.entry.kind in _ENDS_STAGE:
                assert line.entry.stage not in ended, f"{line.entry.stage} of {job} ended twice"
                ended[line.entry.stage] = line.entry.attempt
        for stage, attempt in ended.items():
            assert attempt <= program.ATTEMPTS
            ran = [execution.attempt for execution in fleet.executions(job, stage)]
            assert max(ran) == attempt, f"{stage} of {job}: stored {attempt}, ran {ran}"


def assert_no_attempt_spent(fleet: Fleet, jobs: Sequence[str]) -> None:
    """Every stage ended with its first attempt, and nothing counted as a failure."""
    for job in jobs:
        for line in fleet.app.store.ledger(job):
            entry = line.entry
            assert entry.attempt == 1, f"{job}: {entry}"
            assert entry.kind in (*_ENDS_STAGE, Kind.INTERRUPTED), f"{job}: {entry}"
