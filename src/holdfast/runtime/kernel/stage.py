"""A stage as a worker runs it: its plan's name bound to a handler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from holdfast.classify.table import Rule
from holdfast.core.job.plan import Plan
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.rate_policy import Rate

if TYPE_CHECKING:
    from holdfast.runtime.attempts.attempt import JobContext


class LaneKind(StrEnum):
    """Where a handler runs."""

    LOOP = "loop"
    """`async def` handlers, on an event loop of their own."""
    THREAD = "thread"
    """Plain functions."""
    PROCESS = "process"
    """CPU-bound or untrusted functions, in child processes that can be killed."""


@dataclass(frozen=True, slots=True)
class UpstreamTerms:
    """On what terms a worker calls an upstream."""

    name: str
    breaker: Breaker | None = None
    probe: Callable[[], Any] | None = None
    """Return whether the upstream is well by returning, and that it is not by raising."""
    retry_share: float | None = None
    """Retries may be at most this share of first attempts, apart from one a second."""
    concurrency: int | None = None
    """How many calls one worker may have under way."""
    rate: Rate | None = None
    """How many calls the whole fleet may begin in a while."""


@dataclass(frozen=True, slots=True)
class BoundStage:
    """One stage of one pipeline and what runs it.

    `call` takes the context and returns the handler's value, or its coroutine on the loop lane.
    `encode` turns that value into JSON text or raises `InvalidDocument`.
    """

    pipeline: str
    name: str
    lane: LaneKind
    call: Callable[[JobContext], Any]
    encode: Callable[[Any], str]
    rules: Sequence[Rule] = ()
    target: str | None = None
    """`module:qualname` of the handler, by which a child process finds it."""
    upstream: UpstreamTerms | None = None
    keeps_personal_data: bool = False
    """Whether its failures keep addresses, phones and codes."""


@dataclass(frozen=True, slots=True)
class BoundPipeline:
    """A pipeline's plan, as this process would make jobs, and its handlers."""

    plan: Plan
    queue: str
    stages: tuple[BoundStage, ...]
