"""Counters of the whole fleet, from what every process adds to the store by the minute.

They begin at nothing when this process does and only grow, whichever workers come and go: a
counter that was read from the store as a whole would shrink whenever old minutes are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from holdfast.core.job.decision import Kind
from holdfast.core.values.failure import ErrorClass
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.metrics import names
from holdfast.metrics.accumulators import Labels, Sums
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.maintenance.activity import LATE_RESULT, REFUSED_ATTEMPT, SUBMITTED
from holdfast.views.activity import ActivityRow

LOOK_BACK_US: Final = 180 * SECOND_US
"""Minutes that ended longer ago are not added to any more."""
_BURIED: Final = frozenset({Kind.FAILED.value, Kind.EXPIRED.value})
_FAILED: Final = _BURIED | {Kind.REFUSED.value}
_ATTEMPTED: Final = frozenset(
    kind.value
    for kind in (
        Kind.ADVANCED,
        Kind.COMPLETED,
        Kind.RETRIED,
        Kind.FAILED,
        Kind.SNOOZED,
        Kind.INTERRUPTED,
        Kind.SUSPENDED,
    )
)


_OF_PIPELINES: Final = (
    names.CREATED,
    names.COMPLETED,
    names.MANUAL_RETRIES,
    names.DEADLINES_MISSED,
)
_CRITICAL: Final = (ErrorClass.AUTH_DENIED.value, ErrorClass.BUG.value)


class _Key(NamedTuple):
    minute: Instant
    pipeline: str
    stage: str
    event: str
    error_class: str


class Counted:
    """Adds up what has come since the last look."""

    def __init__(self) -> None:
        self.sums: dict[names.Metric, Sums] = {
            metric: Sums()
            for metric in (
                names.CREATED,
                names.COMPLETED,
                names.FAILED,
                names.CANCELLED,
                names.MANUAL_RETRIES,
                names.ATTEMPTS,
                names.RETRIES,
                names.LEASES_EXPIRED,
                names.DEADLINES_MISSED,
                names.LATE_RESULTS,
                names.DEAD_LETTERS_TOTAL,
            )
        }
        self._pipelines: Mapping[str, Pipeline] = {}
        self._seen: dict[_Key, int] = {}
        self._begun = False

    def begin(self, pipelines: Mapping[str, Pipeline]) -> None:
        """Have the counters of pipelines that are known, and of what must not be missed of them.

        Of a counter that is first seen at one, Prometheus cannot tell that it rose.
        """
        self._pipelines = pipelines
        for name, pipeline in pipelines.items():
            for metric in _OF_PIPELINES:
                self.sums[metric].begin((name,))
            for error_class in _CRITICAL:
                self.sums[names.FAILED].begin((name, self._code(name, error_class)))
                for stage in pipeline.bound().plan.stages:
                    failed = (name, stage.name, Kind.FAILED.value, error_class)
                    self.sums[names.ATTEMPTS].begin(failed)
        self.sums[names.DEAD_LETTERS_TOTAL].begin(("job",))

    def take(self, rows: Iterable[ActivityRow]) -> None:
        """Add what these minutes have gained; of the first look only that they are there."""
        seen: dict[_Key, int] = {}
        for row in rows:
            key = _Key(row.minute, row.pipeline, row.stage, row.event, row.error_class or "")
            seen[key] = row.count
            gained = row.count - self._seen.get(key, 0)
            if self._begun and gained > 0:
                self._add(key, gained)
        self._seen, self._begun = seen, True

    def _add(self, key: _Key, count: int) -> None:
        _, pipeline, stage, event, error_class = key
        if event in _FAILED:
            code = self._code(pipeline, error_class or ErrorClass.TIMEOUT.value)
            self.sums[names.FAILED].add((pipeline, code), count)
        if event == Kind.RETRIED.value:
            code = self._code(pipeline, error_class)
            self.sums[names.RETRIES].add((pipeline, stage, code, error_class), count)
        for metric, labels in _counted(pipeline, stage, event, error_class):
            self.sums[metric].add(labels, count)

    def _code(self, pipeline: str, error_class: str) -> str:
        """Return what the users of a pipeline read of an error class, or the class itself."""
        known = self._pipelines.get(pipeline)
        if known is None or known.public_codes is None:
            return error_class
        return known.public_codes.of(error_class).code


def _counted(
    pipeline: str, stage: str, event: str, error_class: str
) -> Iterable[tuple[names.Metric, Labels]]:
    """Yield what something that happened counts for."""
    if event in _ATTEMPTED:
        yield names.ATTEMPTS, (pipeline, stage, event, error_class)
    if event in _BURIED:
        yield names.DEAD_LETTERS_TOTAL, ("job",)
    if error_class == ErrorClass.WORKER_LOST.value:
        yield names.LEASES_EXPIRED, (pipeline, stage)
    if event == REFUSED_ATTEMPT:
        yield names.ATTEMPTS, (pipeline, stage, Kind.REFUSED.value, error_class)
    match event:
        case Kind.COMPLETED.value:
            yield names.COMPLETED, (pipeline,)
        case Kind.CANCELLED.value:
            yield names.CANCELLED, (pipeline,)
        case Kind.REVIVED.value:
            yield names.MANUAL_RETRIES, (pipeline,)
        case Kind.EXPIRED.value:
            yield names.DEADLINES_MISSED, (pipeline,)
        case _ if event == LATE_RESULT:
            yield names.LATE_RESULTS, (pipeline,)
        case _ if event == SUBMITTED:
            yield names.CREATED, (pipeline,)
        case _:
            return
