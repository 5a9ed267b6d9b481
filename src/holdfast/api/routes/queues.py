"""`/api/queues`: how they stand, and pausing them."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request

from holdfast.api.access import OperatorOfAll, ReaderOfAll, guarded_router
from holdfast.api.models.queues import Queue, Queues, QueueStanding
from holdfast.api.models.values.acting import NO_REASON, Reasoned
from holdfast.api.serving import Engine, serving_of
from holdfast.pipeline.names import MAX_NAME_LENGTH

ROUTER: Final = guarded_router("queues")

QueueName = Annotated[
    str,
    Path(
        description="The name of the queue.",
        max_length=MAX_NAME_LENGTH,
        pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$",
    ),
]


@ROUTER.get("")
def list_queues(_who: ReaderOfAll, request: Request) -> Queues:
    """List every queue that has active jobs, is paused, declared or served, by name.

    Where a thousand jobs and more are active, the counts may be a second old.
    """
    return Queues(items=[Queue.of(counts) for counts in serving_of(request).queues.read()])


@ROUTER.post("/{name}/pause")
def pause_queue(
    name: QueueName,
    who: OperatorOfAll,
    engine: Engine,
    request: Request,
    said: Reasoned = NO_REASON,
) -> QueueStanding:
    """Keep workers from taking jobs of a queue; attempts under way go on."""
    changed = engine.pause_queue(name, by=who.name, reason=said.reason)
    serving_of(request).queues.forget()
    return QueueStanding(queue=name, paused=True, changed=changed, known=engine.knows_queue(name))


@ROUTER.post("/{name}/resume")
def resume_queue(
    name: QueueName,
    who: OperatorOfAll,
    engine: Engine,
    request: Request,
    said: Reasoned = NO_REASON,
) -> QueueStanding:
    """Let workers take jobs of a queue again."""
    changed = engine.resume_queue(name, by=who.name, reason=said.reason)
    serving_of(request).queues.forget()
    return QueueStanding(queue=name, paused=False, changed=changed, known=engine.knows_queue(name))
