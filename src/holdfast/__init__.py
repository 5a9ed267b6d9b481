"""holdfast: durable jobs for Python programs that call things which fail."""

from holdfast.classify import CallbackFailure, Rule, Verdict
from holdfast.core.dead_letter.dead_letter import Cause, LetterState
from holdfast.core.delivery.delivery import DeliveryKey, DeliveryState
from holdfast.core.delivery.promise import Promise
from holdfast.core.job.job import JobState
from holdfast.core.upstream.breaker_policy import Breaker, BreakerMode
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.outbox import OutboxStatus
from holdfast.core.values.retention import Retention
from holdfast.core.values.retry import Jitter, Retry
from holdfast.engine.app import Holdfast
from holdfast.engine.erasure import Erasure, Owned
from holdfast.engine.jobs.answers import AnswerReceipt, AnswerStanding, GivenAnswer
from holdfast.engine.submit.handle import JobHandle
from holdfast.engine.submit.submission import Submit, Submitted
from holdfast.engine.transactions import Reading, Transaction
from holdfast.errors import (
    CircuitOpen,
    ConflictError,
    GiveUp,
    HoldfastError,
    RetryLater,
    UnavailableError,
    UsageError,
    UserError,
)
from holdfast.guard.guard import Guard
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.attempts.attempt import JobContext, Wait
from holdfast.runtime.attempts.notify import Notify, Recipient
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import Evidence, Provider
from holdfast.runtime.events.decided import Decided, DecidedFailure, Message
from holdfast.runtime.outbox.answer import Progress
from holdfast.runtime.outbox.received import Handle, HandleMany, Received
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.runtime.outbox.relay_process import Relay
from holdfast.runtime.outbox.transport import Transport
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.worker import Worker
from holdfast.store.contract import JobFilter
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.store.tables.deliveries import DeliveryFilter
from holdfast.store.tables.outbox import OutboxFilter
from holdfast.views.dead_letter import LetterView
from holdfast.views.delivery import DeliveryView, Reconciliation
from holdfast.views.disclosure import Disclosure
from holdfast.views.explain.waiting import Waiting
from holdfast.views.job import JobView

__all__ = [
    "AnswerReceipt",
    "AnswerStanding",
    "Breaker",
    "BreakerMode",
    "CallbackFailure",
    "Category",
    "Cause",
    "CircuitOpen",
    "ConflictError",
    "CourierOptions",
    "Decided",
    "DecidedFailure",
    "DeliveryFilter",
    "DeliveryKey",
    "DeliveryState",
    "DeliveryView",
    "Disclosure",
    "Erasure",
    "Evidence",
    "Failure",
    "GiveUp",
    "GivenAnswer",
    "Guard",
    "Handle",
    "HandleMany",
    "Holdfast",
    "HoldfastError",
    "Jitter",
    "JobContext",
    "JobFilter",
    "JobHandle",
    "JobState",
    "JobView",
    "LetterFilter",
    "LetterState",
    "LetterView",
    "Message",
    "Notify",
    "OutboxFilter",
    "OutboxStatus",
    "Owned",
    "Pipeline",
    "Progress",
    "Promise",
    "Provider",
    "Rate",
    "Reading",
    "Received",
    "Recipient",
    "Reconciliation",
    "Relay",
    "RelayOptions",
    "Retention",
    "Retry",
    "RetryLater",
    "Rule",
    "Submit",
    "Submitted",
    "Transaction",
    "Transport",
    "UnavailableError",
    "Upstream",
    "UsageError",
    "UserError",
    "Verdict",
    "Wait",
    "Waiting",
    "Worker",
    "WorkerOptions",
]
