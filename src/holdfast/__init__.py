"""holdfast: durable jobs for Python programs that call things which fail.

What every program uses is here. What some use is in a module of its own: `holdfast.answers`,
`classify`, `dead_letters`, `deliveries`, `errors`, `jobs`, `messaging`, `policies`, `presets`,
`retention`, `transactions` and `workers`.
"""

import importlib
import typing
import warnings

from holdfast.core.job.job import JobState
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.retry import Retry
from holdfast.engine.app import Holdfast
from holdfast.engine.handles.handle import JobHandle, results
from holdfast.engine.submit.submission import Submit
from holdfast.errors import (
    CircuitOpen,
    ConflictError,
    GiveUp,
    HoldfastError,
    JobCancelled,
    JobFailed,
    RetryLater,
    UnavailableError,
    UsageError,
    UserError,
)
from holdfast.guard.guard import Guard
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.attempts.attempt import JobContext, Wait
from holdfast.store.contract import JobFilter
from holdfast.views.job import JobView

__all__ = [
    "Breaker",
    "CircuitOpen",
    "ConflictError",
    "GiveUp",
    "Guard",
    "Holdfast",
    "HoldfastError",
    "JobCancelled",
    "JobContext",
    "JobFailed",
    "JobFilter",
    "JobHandle",
    "JobState",
    "JobView",
    "Pipeline",
    "Rate",
    "Retry",
    "RetryLater",
    "Submit",
    "UnavailableError",
    "Upstream",
    "UsageError",
    "UserError",
    "Wait",
    "results",
]

_MOVED: typing.Final = {
    "answers": "AnswerReceipt AnswerStanding GivenAnswer Progress",
    "classify": "CallbackFailure Category Failure Rule Verdict",
    "dead_letters": "Cause LetterFilter LetterState LetterView",
    "deliveries": "CourierOptions DeliveryFilter DeliveryKey DeliveryState DeliveryView Evidence "
    "Notify Promise Provider Recipient Reconciliation",
    "jobs": "Disclosure Submitted Waiting",
    "messaging": "Decided DecidedFailure Handle HandleMany Message OutboxFilter "
    "OutboxStatus Received Relay RelayOptions Transport",
    "policies": "BreakerMode Jitter",
    "retention": "Erasure Owned Retention",
    "transactions": "Reading Transaction",
    "workers": "Worker WorkerOptions",
}
"""The names that were here before 1.0, by the modules that have them now."""


# Type checkers are not to take every name for one of these.
if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a name from where it is now, and say where that is."""
        for module, names in _MOVED.items():
            if name in names.split():
                place = f"holdfast.{module}"
                warnings.warn(f"import {name} from {place}", DeprecationWarning, stacklevel=2)
                return getattr(importlib.import_module(place), name)
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
