"""holdfast: durable jobs for Python programs that call things which fail."""

from holdfast.answer_verbs import AnswerReceipt, AnswerStanding
from holdfast.classify import CallbackFailure, Rule, Verdict
from holdfast.core.breaker_policy import Breaker, BreakerMode
from holdfast.core.dead_letter import Cause, LetterState
from holdfast.core.delivery import DeliveryKey, DeliveryState
from holdfast.core.failure import Category, Failure
from holdfast.core.job import JobState
from holdfast.core.outbox import OutboxStatus
from holdfast.core.promise import Promise
from holdfast.core.rate_policy import Rate
from holdfast.core.retention import Retention
from holdfast.core.retry import Jitter, Retry
from holdfast.delivery_view import DeliveryView, Reconciliation
from holdfast.disclosure import Disclosure
from holdfast.engine import Holdfast
from holdfast.erasure import Erasure, Owned
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
from holdfast.guard import Guard
from holdfast.handle import JobHandle
from holdfast.letter_view import LetterView
from holdfast.pipeline import Pipeline, Upstream
from holdfast.runtime.answer import Progress
from holdfast.runtime.attempt import JobContext, Wait
from holdfast.runtime.courier_options import CourierOptions
from holdfast.runtime.decided import Decided, DecidedFailure, Message
from holdfast.runtime.notify import Notify, Recipient
from holdfast.runtime.provider import Evidence, Provider
from holdfast.runtime.received import Handle, Received
from holdfast.runtime.relay import RelayOptions
from holdfast.runtime.relaying import Relay
from holdfast.runtime.transport import Transport
from holdfast.runtime.worker import Worker
from holdfast.runtime.worker_options import WorkerOptions
from holdfast.store.contract import JobFilter
from holdfast.store.deliveries import DeliveryFilter
from holdfast.store.letters import LetterFilter
from holdfast.store.outbox import OutboxFilter
from holdfast.submission import Submit, Submitted
from holdfast.transactions import Transaction
from holdfast.view import JobView
from holdfast.waiting import Waiting

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
    "Guard",
    "Handle",
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
