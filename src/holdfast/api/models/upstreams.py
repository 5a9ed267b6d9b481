"""Upstreams and their breakers as the API takes and tells them."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, Field

from holdfast.api.models.values.acting import Action, Reasoned
from holdfast.api.models.values.moment import Moment
from holdfast.core.upstream.breaker import Admits
from holdfast.core.upstream.upstream import Gate


class FailedCall(BaseModel):
    """A call that spoke against an upstream."""

    at: Moment
    error_class: str
    message: str
    job_id: str | None
    """The job that made it; null for a probe."""


class Rate(BaseModel):
    """How many calls of an upstream the fleet may begin, and how much of that is left."""

    calls: int
    per_seconds: float
    burst: int
    room: int
    """How many calls could begin at once now."""
    room_at: Moment | None
    """When there is room for another; null while there is."""
    out: int
    """How many calls workers were given and have not begun."""
    begun: int
    """How many calls have begun, or may have, since the rate was first used."""
    short: bool
    """Whether jobs wait for room."""


class Upstream(BaseModel):
    """How an upstream stands."""

    upstream: str
    breaker: Gate
    admits: Admits
    share: float | None
    """How much is let through, from 0 to 1; null where only a worker's policy tells."""
    since: Moment | None
    until: Moment | None
    """When the next call may be made: once a cooldown and a pause it asked for are over."""
    paused_until: Moment | None
    reason: str | None
    """Why the breaker opened, or who holds it and why; null while calls go through."""
    failures: list[FailedCall]
    """The latest calls that failed, newest first; of an open breaker, those that opened it."""
    forced_by: str | None
    forced_reason: str | None
    generation: int
    reopenings: int
    trials: int
    successes: int
    recently_fine: int
    recently_failed: int
    open_seconds: float
    """For how long its breaker was open in all."""
    rate: Rate | None
    """Null where there is no rate."""


class Upstreams(BaseModel):
    """Every upstream that stages call or that anything is known about, by name."""

    items: list[Upstream]


class UpstreamReport(Upstream):
    """An upstream and what was recently done to it."""

    held_jobs: int
    """How many due jobs wait for it."""
    actions: list[Action]


class BreakerAction(StrEnum):
    """What an operator does to a breaker."""

    OPEN = "open"
    """Let nothing through, whatever calls say, until it is closed or reset."""
    CLOSE = "close"
    """Let everything through, whatever calls say, until it is opened or reset."""
    RESET = "reset"
    """Let go of it and forget everything: it is closed, and moves by itself again."""
    PROBE = "probe"
    """Have the next trial made now: a cooldown, or a pause the upstream asked for, ends."""


class BreakerOrder(Reasoned):
    """What to do to the breaker of an upstream, and why."""

    action: BreakerAction = Field(strict=False)
