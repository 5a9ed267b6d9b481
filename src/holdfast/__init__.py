"""holdfast: durable jobs for Python programs that call things which fail."""

from holdfast.classify import Rule, Verdict
from holdfast.core.dead_letter import Cause, LetterState
from holdfast.core.failure import Category, Failure
from holdfast.core.job import JobState
from holdfast.core.retry import Jitter, Retry
from holdfast.engine import Holdfast
from holdfast.errors import (
    ConflictError,
    GiveUp,
    HoldfastError,
    RetryLater,
    UnavailableError,
    UsageError,
)
from holdfast.handle import JobHandle
from holdfast.letter_view import LetterView
from holdfast.pipeline import Pipeline, Upstream
from holdfast.runtime.attempt import JobContext, Wait
from holdfast.runtime.worker import Worker, WorkerOptions
from holdfast.store.contract import JobFilter
from holdfast.store.letters import LetterFilter
from holdfast.submission import Submit, Submitted
from holdfast.view import JobView

__all__ = [
    "Category",
    "Cause",
    "ConflictError",
    "Failure",
    "GiveUp",
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
    "Pipeline",
    "Retry",
    "RetryLater",
    "Rule",
    "Submit",
    "Submitted",
    "UnavailableError",
    "Upstream",
    "UsageError",
    "Verdict",
    "Wait",
    "Worker",
    "WorkerOptions",
]
