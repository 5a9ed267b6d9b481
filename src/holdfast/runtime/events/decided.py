"""What a pipeline is shown of a decision about one of its jobs, and the messages it returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.job import Job
from holdfast.core.values.document import decode
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, to_datetime

_GO_ON_LATER: Final = frozenset({Kind.RETRIED, Kind.SNOOZED, Kind.HELD, Kind.SUSPENDED})


class Message(NamedTuple):
    """A message to be published: its type, its payload, and what it is about.

    Messages of one aggregate, which is the job unless another is given, are published one after
    the other.
    """

    type: str
    payload: object = None
    aggregate_id: str | None = None
    id: str | None = None
    """A UUID of the publisher's own, for `publish_many`; those of decisions have ids anyway."""


class DecidedFailure(NamedTuple):
    """Why an attempt or a job failed; texts are free of secrets."""

    error_class: str
    message: str
    retryable: bool
    http_status: int | None
    retry_after_s: float | None
    """How long the upstream asked to be left alone."""


@dataclass(frozen=True)
class Decided:
    """A decision about a job, before it is written; the job's fields are those it was made from."""

    job_id: str
    pipeline: str
    key: str | None
    owner: str
    version: int
    stage: str
    attempt: int
    """Attempts of the stage that were begun."""
    run: int
    """Rises when the job starts over."""
    retries: int
    """How often a person sent the job back, this decision included."""
    created_at: datetime
    deadline_at: datetime | None
    kind: str
    """What has happened, in the words of the history."""
    at: datetime
    revision: int
    """The revision that the decision leads to."""
    failure: DecidedFailure | None
    until: datetime | None
    """When the job goes on: its next attempt, or the end of its wait; None where nobody knows."""
    attempts: int
    """How often what failed was tried: attempts of the stage, or sends of its deliveries."""
    trace: str | None
    _payload: str
    _result: str | None
    _detail: str | None

    @classmethod
    def of(cls, job: Job, decision: Decision) -> Decided:
        """Return what is shown of a decision."""
        change, entry = decision.change, decision.entry
        later = entry.kind in _GO_ON_LATER and change.run_at < FAR_FUTURE
        return cls(
            job_id=job.id,
            pipeline=job.pipeline,
            key=job.key,
            owner=job.owner,
            version=job.version,
            stage=entry.stage,
            attempt=entry.attempt,
            run=change.run,
            retries=change.retries,
            created_at=to_datetime(job.created_at),
            deadline_at=None if change.deadline_at is None else to_datetime(change.deadline_at),
            kind=entry.kind.value,
            at=to_datetime(entry.at),
            revision=decision.expected + 1,
            failure=_failure(decision.failure),
            until=to_datetime(change.run_at) if later else None,
            attempts=job.attempt if decision.tries is None else decision.tries.attempts,
            trace=job.trace,
            _payload=job.payload,
            _result=change.result if decision.checkpoint is None else decision.checkpoint,
            _detail=entry.detail,
        )

    @cached_property
    def payload(self) -> Any:  # noqa: ANN401 - JSON of any shape
        """What was submitted; read when it is first asked for."""
        return decode(self._payload)

    @cached_property
    def result(self) -> Any:  # noqa: ANN401 - as above
        """What the stage returned, of one that is done; None otherwise."""
        return None if self._result is None else decode(self._result)

    @cached_property
    def detail(self) -> Mapping[str, Any]:
        """What the history says besides: who asked and why, which upstream holds the job."""
        found: dict[str, Any] = json.loads(self._detail) if self._detail else {}
        return found


OnDecision: TypeAlias = Callable[[Decided], Iterable[Message] | None]
"""Return the messages that are written in the commit of a decision."""


def _failure(failure: Failure | None) -> DecidedFailure | None:
    if failure is None:
        return None
    asked_us = failure.retry_after_us
    return DecidedFailure(
        failure.error_class,
        failure.message,
        failure.retryable,
        failure.http_status,
        None if asked_us is None else asked_us / SECOND_US,
    )
