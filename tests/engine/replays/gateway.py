"""An upstream whose failures are replayed, and how its jobs stand."""

from collections import Counter

from holdfast import GiveUp, Holdfast, JobState
from holdfast.core.job.decision import Kind

READY = {"cause": "transient", "evidence": "the gateway answers again"}
AT_ONCE = {**READY, "canary": 0, "rate": None}


class Gateway:
    """An upstream that is down for some, or for all."""

    def __init__(self) -> None:
        self.down_for: set[int] | None = None
        self.calls: Counter[int] = Counter()

    def call(self, job, n: int) -> int:
        self.calls[n] += 1
        if self.down_for is None or n in self.down_for:
            raise GiveUp("GATEWAY_DOWN", f"no answer for {n}")
        return n


def states(app: Holdfast, ids: list[str]) -> list[JobState]:
    return [app.job(job_id).state for job_id in ids]


def returns(app: Holdfast, ids: list[str]) -> list[int]:
    """How often each job was sent back, as its ledger has it."""
    return [
        sum(line.entry.kind is Kind.REVIVED for line in app.store.ledger(job_id)) for job_id in ids
    ]
