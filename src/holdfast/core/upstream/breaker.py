"""The one place that says how a breaker moves.

`decide_breaker` takes an upstream as it was read, an event, the policy and the instant, and
returns the upstream after it, or None when nothing changes. Like `decide` it reads no clock and
nothing outside. `admission` says what a worker may do, at an instant, with what it last read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, assert_never

from holdfast.core.upstream import evidence
from holdfast.core.upstream.upstream import (
    MAX_CALL_MESSAGE_LENGTH,
    MAX_FAILED_CALLS,
    FailedCall,
    Gate,
    Permit,
    Sample,
    UpstreamState,
)
from holdfast.core.values.failure import clean_text
from holdfast.core.values.instant import SECOND_US, Instant, later

if TYPE_CHECKING:
    from holdfast.core.upstream.breaker_policy import Breaker
    from holdfast.core.values.failure import Failure

LONGEST_PAUSE_US: Final = 300 * SECOND_US
_TOO_MANY_REQUESTS: Final = 429
RELEASE_STEPS: Final = 10
TRIAL_FAILED: Final = "a trial call failed"


@dataclass(frozen=True, slots=True)
class Observed:
    """Calls of one worker ended, begun in `generation`.

    `runs` are how they ended, in order: so many were fine, then so many failed. With no runs the
    evidence is looked at again. `earlier` are fine calls before them that were not worth telling
    while nothing failed, by their instants; a rule about a span of time wants to know.
    `fleet` is how many workers are alive.
    """

    worker: str
    generation: int
    runs: tuple[tuple[int, int], ...] = ()
    fleet: int = 1
    earlier: tuple[tuple[Instant, int], ...] = ()
    failures: tuple[FailedCall, ...] = ()
    """The latest of the calls that failed, oldest first."""


@dataclass(frozen=True, slots=True)
class PermitsAsked:
    """A worker would make trial calls."""

    worker: str
    wanted: int


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """A trial call ended; `fine` is None when it never took place."""

    generation: int
    number: int
    fine: bool | None
    failure: FailedCall | None = None
    """What it failed of, if it did and that is known."""


@dataclass(frozen=True, slots=True)
class RateLimited:
    """The upstream asked to be left alone until then."""

    until: Instant


@dataclass(frozen=True, slots=True)
class ForceAsked:
    """An operator holds the gate open or closed, or lets go of it."""

    gate: Literal[Gate.OPEN, Gate.CLOSED] | None
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ResetAsked:
    """An operator declares the upstream well: everything known about it is forgotten."""


@dataclass(frozen=True, slots=True)
class ProbeAsked:
    """An operator wants it tried now: a cooldown and a pause that the upstream asked for end."""


BreakerEvent: TypeAlias = (
    Observed | PermitsAsked | TrialEnded | RateLimited | ForceAsked | ResetAsked | ProbeAsked
)


class Admits(StrEnum):
    """What an upstream lets through."""

    ALL = "all"
    TRIALS = "trials"
    """Calls that hold a permit."""
    NOTHING = "nothing"


class Admission(NamedTuple):
    """What a worker may do with an upstream."""

    admits: Admits
    share: float = 1.0
    """How much of its places a worker may fill with calls of this upstream."""
    until: Instant | None = None
    """When nothing is admitted: until when, as far as is known."""
    rate_limited: bool = False
    """Whether it is the upstream that asked for it, and no breaker."""


UNRESTRICTED: Final = Admission(Admits.ALL)
"""What stays so, once it is, for as long as the upstream stays as it was read."""


def admission(upstream: UpstreamState, policy: Breaker | None, now: Instant) -> Admission:
    """Return what the upstream lets through at `now`."""
    until = next_call_at(upstream, policy, now)
    if (upstream.paused_until or 0) > now:
        return Admission(Admits.NOTHING, 0.0, until, rate_limited=True)
    if upstream.forced is Gate.OPEN:
        return Admission(Admits.NOTHING, 0.0)
    if upstream.forced is Gate.CLOSED or policy is None:
        return UNRESTRICTED
    if upstream.gate is Gate.CLOSED:
        share = _share(upstream, policy, now)
        return UNRESTRICTED if share == 1.0 else Admission(Admits.ALL, share)
    if until is not None:
        return Admission(Admits.NOTHING, 0.0, until)
    return Admission(Admits.TRIALS, 0.0)


def next_call_at(upstream: UpstreamState, policy: Breaker | None, now: Instant) -> Instant | None:
    """Return when the next call may be made: after a pause, and after a cooldown as a trial.

    None when one may be made now, and when an operator holds the gate open.
    """
    if upstream.forced is Gate.OPEN:
        return None
    cools = policy is not None and upstream.forced is None and upstream.gate is Gate.OPEN
    cooled_at = upstream.open_until if cools else None
    ends_at = max(upstream.paused_until or 0, cooled_at or 0)
    return Instant(ends_at) if ends_at > now else None


def decide_breaker(
    upstream: UpstreamState, event: BreakerEvent, policy: Breaker | None, now: Instant
) -> UpstreamState | None:
    """Return the upstream after `event` at `now`, or None when it changes nothing."""
    after = _decide(upstream, event, policy, now)
    return None if after is None else _timed(upstream, after, now)


def _timed(before: UpstreamState, after: UpstreamState, now: Instant) -> UpstreamState:
    """Return the upstream with the time that it was open, whichever way it got there."""
    if before.is_open and after.is_open:
        return after._replace(opened_at=before.opened_at or before.since, open_us=before.open_us)
    opened_at = now if after.is_open else None
    return after._replace(opened_at=opened_at, open_us=before.open_time_us(now))


def _decide(
    upstream: UpstreamState, event: BreakerEvent, policy: Breaker | None, now: Instant
) -> UpstreamState | None:
    match event:
        case Observed():
            return None if policy is None else _observe(upstream, event, policy, now)
        case PermitsAsked():
            return None if policy is None else _grant(upstream, event, policy, now)
        case TrialEnded():
            return None if policy is None else _end_trial(upstream, event, policy, now)
        case RateLimited():
            until = min(event.until, later(now, LONGEST_PAUSE_US))
            if until <= now or until <= (upstream.paused_until or 0):
                return None
            return upstream._replace(paused_until=until)
        case ForceAsked():
            return _force(upstream, event, now)
        case ResetAsked():
            return _afresh(upstream, now)
        case ProbeAsked():
            return _cut_short(upstream, now)
    assert_never(event)


def evidence_of(failure: Failure) -> bool | None:
    """Return whether a failed call speaks for the upstream, against it, or not at all."""
    if failure.blames_upstream:
        return False
    # Whatever it refused, it answered.
    return True if failure.http_status is not None else None


def failed_call(failure: Failure, *, at: Instant, job_id: str | None) -> FailedCall:
    """Return what is kept of a call that failed, which is redacted already."""
    message = clean_text(failure.message, MAX_CALL_MESSAGE_LENGTH)
    return FailedCall(at, failure.error_class, message, job_id)


def pause_us_of(failure: Failure) -> int | None:
    """Return for how long the upstream asked everybody to stay away; None when it did not."""
    return failure.retry_after_us if failure.http_status == _TOO_MANY_REQUESTS else None


def _share(upstream: UpstreamState, policy: Breaker, now: Instant) -> float:
    """Return the share let through: it rises in steps after the gate closed."""
    if upstream.generation == 0:
        return 1.0
    release_us = policy.release * SECOND_US
    elapsed_us = max(now - upstream.since, 0)
    if elapsed_us >= release_us:
        return 1.0
    return (math.floor(RELEASE_STEPS * elapsed_us / release_us) + 1) / RELEASE_STEPS


def _observe(
    upstream: UpstreamState, event: Observed, policy: Breaker, now: Instant
) -> UpstreamState | None:
    if upstream.gate is not Gate.CLOSED or event.generation != upstream.generation:
        return None
    if upstream.forced is not None:
        # Evidence would move a gate that a person holds, and be forgotten when it is let go.
        return None
    new = (
        *(Sample(at, event.worker, fine, 0) for at, fine in event.earlier),
        *(Sample(now, event.worker, fine, failed) for fine, failed in event.runs),
    )
    samples = evidence.kept((*upstream.samples, *new), policy, now)
    failures = (*upstream.failures, *event.failures)[-MAX_FAILED_CALLS:] if samples else ()
    if evidence.is_enough(samples, policy, fleet=event.fleet, now=now):
        reason = evidence.broken_rule(samples, policy)
        return _opened(upstream, policy, now, reopenings=0, reason=reason, failures=failures)
    if samples == upstream.samples and failures == upstream.failures:
        return None
    return upstream._replace(samples=samples, failures=failures)


def _opened(
    upstream: UpstreamState,
    policy: Breaker,
    now: Instant,
    *,
    reopenings: int,
    reason: str | None,
    failures: tuple[FailedCall, ...],
) -> UpstreamState:
    return upstream._replace(
        gate=Gate.OPEN,
        generation=upstream.generation + 1,
        since=now,
        open_until=later(now, policy.cooldown_us(reopenings)),
        reopenings=reopenings,
        successes=0,
        granted=0,
        permits=(),
        samples=(),
        reason=reason,
        failures=failures,
    )


def _grant(
    upstream: UpstreamState, event: PermitsAsked, policy: Breaker, now: Instant
) -> UpstreamState | None:
    """Give out trial permits: never more under way, or still to come, than the policy allows."""
    if admission(upstream, policy, now).admits is not Admits.TRIALS:
        return None
    half_open = upstream
    if upstream.gate is Gate.OPEN:
        half_open = upstream._replace(
            gate=Gate.HALF_OPEN,
            generation=upstream.generation + 1,
            since=now,
            open_until=None,
            successes=0,
            granted=0,
            permits=(),
        )
    under_way = tuple(permit for permit in half_open.permits if permit.until > now)
    room = min(policy.trials, (policy.successes or 1) - half_open.successes) - len(under_way)
    count = min(event.wanted, room)
    if count <= 0:
        return None
    until = later(now, int(policy.trial_timeout * SECOND_US))
    given = tuple(
        Permit(half_open.granted + number, event.worker, until) for number in range(1, count + 1)
    )
    return half_open._replace(permits=(*under_way, *given), granted=half_open.granted + count)


def _end_trial(
    upstream: UpstreamState, event: TrialEnded, policy: Breaker, now: Instant
) -> UpstreamState | None:
    if upstream.gate is not Gate.HALF_OPEN or event.generation != upstream.generation:
        return None
    rest = tuple(permit for permit in upstream.permits if permit.number != event.number)
    if len(rest) == len(upstream.permits):
        return None
    if event.fine is None:
        return upstream._replace(permits=rest)
    if not event.fine:
        told = () if event.failure is None else (event.failure,)
        return _opened(
            upstream,
            policy,
            now,
            reopenings=upstream.reopenings + 1,
            reason=TRIAL_FAILED,
            failures=(*upstream.failures, *told)[-MAX_FAILED_CALLS:],
        )
    successes = upstream.successes + 1
    if successes < (policy.successes or 1):
        return upstream._replace(permits=rest, successes=successes)
    return upstream._replace(
        gate=Gate.CLOSED,
        generation=upstream.generation + 1,
        since=now,
        open_until=None,
        reopenings=0,
        successes=0,
        granted=0,
        permits=(),
        samples=(),
        reason=None,
        failures=(),
    )


def _force(upstream: UpstreamState, event: ForceAsked, now: Instant) -> UpstreamState | None:
    """Hold the gate where an operator wants it. Letting go of it starts afresh, closed."""
    if event.gate is None:
        return None if upstream.forced is None else _afresh(upstream, now)
    return upstream._replace(
        forced=event.gate,
        forced_by=event.by,
        forced_reason=event.reason,
        generation=upstream.generation + 1,
        since=now,
        successes=0,
        granted=0,
        permits=(),
        samples=(),
        reason=None,
        failures=(),
    )


def _cut_short(upstream: UpstreamState, now: Instant) -> UpstreamState | None:
    """End what is waited for. A gate that an operator holds waits for nothing."""
    if upstream.forced is not None:
        return None
    shorter = upstream
    if upstream.gate is Gate.OPEN and now < (upstream.open_until or 0):
        shorter = shorter._replace(open_until=now)
    if upstream.paused_until is not None and upstream.paused_until > now:
        shorter = shorter._replace(paused_until=None)
    return None if shorter is upstream else shorter


def _afresh(upstream: UpstreamState, now: Instant) -> UpstreamState:
    """Return the upstream as new. What was closed stays so, and is not released once more."""
    was_closed = (upstream.forced or upstream.gate) is Gate.CLOSED
    return UpstreamState(
        upstream.name,
        upstream.revision,
        generation=upstream.generation + 1,
        since=upstream.since if was_closed else now,
    )
