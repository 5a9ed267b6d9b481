"""A breaker in this process's memory: the machine of the fleet's breakers, without a store."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from holdfast.core.upstream.breaker import (
    Admits,
    BreakerEvent,
    Observed,
    PermitsAsked,
    RateLimited,
    TrialEnded,
    admission,
    decide_breaker,
)
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.evidence import BUCKETS
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant, later, to_datetime
from holdfast.errors import CircuitOpen
from holdfast.runtime.breakers.transitions import log_move
from holdfast.runtime.events.signals import GUARDS
from holdfast.runtime.kernel.clock import Chance

HERE: Final = "here"
"""The one worker there is."""
NEVER: Final = -1


class Trial(NamedTuple):
    """The right to a trial call."""

    generation: int
    number: int


Ticket: TypeAlias = int | Trial
"""By which a call was let through: the generation it began in, or its trial."""


class LocalBreaker:
    """Lets calls through, is given how they ended, and moves as `decide_breaker` says.

    While all is well a call costs a count under a lock. The machine is asked once something fails,
    and given then the fine calls before, because those alone open nothing.
    """

    __slots__ = (
        "_bucket_us",
        "_buckets",
        "_chance",
        "_fine",
        "_lock",
        "_now",
        "_policy",
        "_tell_at",
        "generation",
        "plain",
        "state",
    )

    def __init__(
        self, name: str, policy: Breaker, *, now: Callable[[], Instant], chance: Chance
    ) -> None:
        self.state = UpstreamState(name)
        self.generation = 0
        self.plain = True
        """Whether everything is let through, so that nobody has to ask."""
        self._policy = policy
        self._now = now
        self._chance = chance
        self._lock = threading.Lock()
        self._fine = 0
        """Fine calls that the machine has not been given."""
        self._tell_at = NEVER
        """At how many of them it wants to know: it judges no rate of too few calls."""
        span_us = int((policy.over_seconds or 0) * SECOND_US)
        self._bucket_us = span_us // BUCKETS
        self._buckets: deque[tuple[Instant, int]] = deque(maxlen=BUCKETS + 1)

    def enter(self, now: Instant) -> Ticket:
        """Let a call begin, or raise `CircuitOpen`."""
        with self._lock:
            before = self.state
            admitted = admission(before, self._policy, now)
            ticket: Ticket | None = None
            if admitted.admits is Admits.TRIALS:
                if self._move(PermitsAsked(HERE, 1), now):
                    ticket = Trial(self.generation, self.state.granted)
            elif admitted.admits is Admits.ALL:
                self.plain = admitted.share >= 1.0
                if self.plain or self._chance.roll() < admitted.share:
                    ticket = self.generation
            after = self.state
        # Without the lock, because a handler of logs may make calls itself.
        log_move(before, after, GUARDS)
        if ticket is None:
            raise self.refusal(now)
        return ticket

    def refusal(self, now: Instant) -> CircuitOpen:
        """Return the error of a call that is not let through."""
        state = self.state
        admitted = admission(state, self._policy, now)
        until = admitted.until
        if admitted.rate_limited:
            reason = "it asked to be left alone"
        elif admitted.admits is Admits.TRIALS:
            reason = "its breaker is half open, and other calls are trying it"
        elif admitted.admits is Admits.ALL:
            reason = "its breaker has closed, and lets more through step by step"
            until = later(state.since, int(self._policy.release * SECOND_US))
        else:
            reason = "its breaker is open"
        return CircuitOpen(
            state.name,
            reason=reason,
            until=None if until is None else to_datetime(until),
            wait_s=None if until is None else max(until - now, 0) / SECOND_US,
        )

    def refuses_at(self, then: Instant) -> bool:
        """Return whether it is certain that no call is let through at `then`, nor before."""
        return admission(self.state, self._policy, then).admits is Admits.NOTHING

    def fine(self, ticket: Ticket) -> None:
        """Note that the upstream answered a call."""
        with self._lock:
            # A trial equals no generation, and an answer to an older one is no evidence.
            if ticket == self.generation:
                self._fine += 1
                if self._bucket_us:
                    self._count(self._now())
                if self._fine != self._tell_at:
                    return
        if isinstance(ticket, Trial):
            self._end(ticket, fine=True)
        else:
            self._tell(ticket, failed=0)

    def failed(self, ticket: Ticket) -> None:
        """Note that a call failed by the upstream's fault."""
        if isinstance(ticket, Trial):
            self._end(ticket, fine=False)
        else:
            self._tell(ticket, failed=1)

    def ended(self, ticket: Ticket) -> None:
        """Note that a call ended in a way that says nothing about the upstream."""
        if isinstance(ticket, Trial):
            self._end(ticket, fine=None)

    def pause(self, until: Instant) -> None:
        """Note that the upstream asked to be left alone."""
        self.meet(RateLimited(until))

    def _end(self, trial: Trial, *, fine: bool | None) -> None:
        self.meet(TrialEnded(trial.generation, trial.number, fine))

    def meet(self, event: BreakerEvent) -> None:
        """Let an event happen to the upstream."""
        with self._lock:
            before = self.state
            self._move(event, self._now())
            after = self.state
        log_move(before, after, GUARDS)

    def _tell(self, ticket: Ticket, *, failed: int) -> None:
        """Tell the machine of calls: the fine ones so far, then those that failed."""
        with self._lock:
            if ticket != self.generation:
                return
            before, now = self.state, self._now()
            fine, self._fine = self._fine, 0
            earlier = tuple(self._buckets)
            self._buckets.clear()
            runs = ((0 if earlier else fine, failed),)
            self._move(Observed(HERE, self.generation, runs, 1, earlier), now)
            self._tell_at = self._calls_to_minimum()
            after = self.state
        log_move(before, after, GUARDS)

    def _calls_to_minimum(self) -> int:
        """Return how many calls a rate still needs to mean something; `NEVER` when it does."""
        samples = self.state.samples
        if self._policy.failure_rate is None or not samples:
            return NEVER
        known = sum(sample.fine + sample.failed for sample in samples)
        missing = (self._policy.minimum_calls or 1) - known
        return missing if missing > 0 else NEVER

    def _count(self, now: Instant) -> None:
        buckets = self._buckets
        if buckets and now // self._bucket_us == buckets[-1][0] // self._bucket_us:
            at, count = buckets[-1]
            buckets[-1] = (at, count + 1)
        else:
            buckets.append((now, 1))

    def _move(self, event: BreakerEvent, now: Instant) -> bool:
        """Decide, and take over what was decided; the lock is held."""
        before = self.state
        decided = decide_breaker(before, event, self._policy, now)
        if decided is None:
            return False
        self.state = decided
        if decided.generation != before.generation:
            self.generation = decided.generation
            self._fine, self._tell_at = 0, NEVER
            self._buckets.clear()
            self.plain = False
        elif decided.paused_until != before.paused_until:
            self.plain = False
        return True
