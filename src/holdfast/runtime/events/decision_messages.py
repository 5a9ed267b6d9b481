"""Messages that a pipeline wants in the commit of a decision about one of its jobs.

Which pipelines do is stored with their plans, so that a process without the code of one leaves its
jobs to a process that has it. Ids are made of job, revision and number: a revision is written
once, and so are the messages of the decision that led to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Protocol

from holdfast.core.job.decision import Decision
from holdfast.core.job.job import Job
from holdfast.core.job.plan import Plan
from holdfast.core.values.outbox import NewMessage, new_message
from holdfast.errors import InvalidValue, UnavailableError
from holdfast.runtime.events.decided import Decided, Message, OnDecision
from holdfast.store.tables.outbox import decision_message_id

LOGGER: Final = logging.getLogger("holdfast.worker")
MAX_MESSAGES: Final = 100
"""How many messages one decision may have."""


class Declared(Protocol):
    """A pipeline that this process has the code of."""

    @property
    def on_decision(self) -> OnDecision | None:
        """What is called with its decisions."""
        ...


class DecisionMessages:
    """Adds to decisions the messages of their pipelines; `find` returns a pipeline by its name."""

    def __init__(self, find: Callable[[str], Declared | None]) -> None:
        self._find = find

    def lacks(self, plan: Plan) -> bool:
        """Return whether nothing may be decided here about a job of this plan."""
        return plan.on_decision and self._find(plan.pipeline) is None

    def added(self, job: Job, decision: Decision) -> Decision:
        """Return a decision with the messages that its pipeline wants written with it.

        What the pipeline's function raises is logged, and the decision stands without messages;
        but an `UnavailableError` is raised, because the decision can be made again later.
        """
        pipeline = self._find(job.pipeline)
        function = None if pipeline is None else pipeline.on_decision
        if function is None:
            return decision
        try:
            made = _messages(job, decision, function(Decided.of(job, decision)) or ())
        except UnavailableError:
            raise
        except Exception:
            LOGGER.exception(
                "on_decision of pipeline %s failed; what was decided is written without messages",
                job.pipeline,
                extra={
                    "event": "on_decision_failed",
                    "job_id": job.id,
                    "kind": decision.entry.kind.value,
                },
            )
            return decision
        return decision._replace(messages=(*decision.messages, *made)) if made else decision


NONE_KNOWN: Final = DecisionMessages(lambda _: None)
"""For a process without pipelines."""


def _messages(job: Job, decision: Decision, wanted: Iterable[Message]) -> list[NewMessage]:
    found = list(islice(wanted, MAX_MESSAGES + 1))
    if len(found) > MAX_MESSAGES:
        raise InvalidValue(
            "on_decision",
            field="messages",
            value=len(found),
            limit=f"at most {MAX_MESSAGES} for one decision",
        )
    revision = decision.expected + 1
    return [
        new_message(
            decision_message_id(job.id, revision, number),
            message_type=message.type,
            payload=message.payload,
            aggregate_id=job.id if message.aggregate_id is None else message.aggregate_id,
            trace=job.trace,
        )
        for number, message in enumerate(found, 1)
    ]
