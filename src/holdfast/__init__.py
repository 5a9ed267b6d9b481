"""holdfast: durable jobs for Python programs that call things which fail.

What every program uses is here. What some use is in a module of its own: `holdfast.answers`,
`classify`, `dead_letters`, `deliveries`, `errors`, `jobs`, `messaging`, `policies`, `presets`,
`retention`, `transactions` and `workers`.
"""

import importlib
import typing
import warnings

if typing.TYPE_CHECKING:
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

_PLACES: typing.Final = {
    "core.job.job": "JobState",
    "core.upstream.breaker_policy": "Breaker",
    "core.upstream.rate_policy": "Rate",
    "core.values.retry": "Retry",
    "engine.app": "Holdfast",
    "engine.handles.handle": "JobHandle results",
    "engine.submit.submission": "Submit",
    "errors": "CircuitOpen ConflictError GiveUp HoldfastError JobCancelled JobFailed RetryLater "
    "UnavailableError UsageError UserError",
    "guard.guard": "Guard",
    "pipeline.declaration": "Pipeline",
    "pipeline.upstream": "Upstream",
    "runtime.attempts.attempt": "JobContext Wait",
    "store.contract": "JobFilter",
    "views.job": "JobView",
}
"""Where each name is defined: it is loaded when it is first used, so that `import holdfast` and
what a program does not use cost it nothing."""

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


def _find(name: str, places: dict[str, str]) -> str | None:
    """Return the module that has a name."""
    return next((f"holdfast.{at}" for at, names in places.items() if name in names.split()), None)


# Type checkers are not to take every name for one of these.
if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a name from where it is; of one that has moved, say where that is."""
        place = _find(name, _PLACES)
        if place is not None:
            found = globals()[name] = getattr(importlib.import_module(place), name)
            return found
        place = _find(name, _MOVED)
        if place is not None:
            warnings.warn(f"import {name} from {place}", DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(place), name)
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Return the names there are, loaded or not."""
        return sorted({*globals(), *__all__})
