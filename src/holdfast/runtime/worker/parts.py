"""What an application gives its workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.core.values.retention import Retention
from holdfast.runtime.attempts.job_secrets import JobSecrets
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.events.announce import Announcer
from holdfast.runtime.events.decision_messages import DecisionMessages
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.stage import BoundStage
from holdfast.runtime.maintenance.activity import Counter
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.roster import Roster
from holdfast.store.contract import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """The same for workers of every kind."""

    store: Store
    stages: Sequence[BoundStage]
    queues: Sequence[str]
    clock: Clock
    chance: Chance
    announcer: Announcer
    counter: Counter
    options: WorkerOptions
    retention: Retention
    callback_key: Callable[[], bytes]
    secrets: JobSecrets
    dispatch: Dispatch
    decisions: DecisionMessages
    chores: Sequence[Chore]
    running: Roster
