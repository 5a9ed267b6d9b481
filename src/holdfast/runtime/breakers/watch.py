"""One upstream as one worker sees it: what it lets through, and how recent calls ended."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, NamedTuple

from holdfast.core.job.event import Done, Event, Failed, Held, Suspended
from holdfast.core.upstream.breaker import (
    UNRESTRICTED,
    Admission,
    Admits,
    RateLimited,
    TrialEnded,
    admission,
    evidence_of,
    failed_call,
    pause_us_of,
)
from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.upstream.evidence import BUCKETS, MEMORY_US, most_calls
from holdfast.core.upstream.upstream import MAX_FAILED_CALLS, FailedCall, Gate, UpstreamState
from holdfast.core.values.failure import CIRCUIT_OPEN, Failure
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.breakers.rate_room import RateRoom
from holdfast.runtime.events.signals import CallEnded, Signal
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.kernel.stage import UpstreamTerms

SUMMED: Final = 2
"""How many of the oldest runs are put together when no rule needs their order any more."""
STALE_US: Final = 30 * SECOND_US
"""For how long what was last read of an upstream is believed while the store cannot be reached."""
RETRY_FLOOR_PER_S: Final = 1.0
MAX_RETRIES_SAVED: Final = 10.0
RATE: Final = "RATE"
"""Why a job is handed back that was claimed, and began too late for its turn."""
_FINE: Final = frozenset({Done, Suspended})
_ticket: Final = tuple.__new__


class Permit(NamedTuple):
    """The right of this very worker to one trial call."""

    generation: int
    number: int
    until: Instant


class Ticket(NamedTuple):
    """Under which a call was begun; an answer to an older one is no evidence."""

    generation: int
    permit: Permit | None
    at: Instant = Instant(0)
    """When the call began."""


class Watch:
    """What a worker knows of an upstream, used by the lanes, the claimer and the breakers.

    Nothing here waits for anybody: the store is read and written by `Breakers` alone.
    """

    def __init__(
        self, terms: UpstreamTerms, *, chance: Chance, calls: Signal[CallEnded] | None = None
    ) -> None:
        self.terms = terms
        self.state = UpstreamState(terms.name)
        self.read_at = Instant(0)
        self._is_calm = False
        """Whether what was read lets everything through, for as long as it is believed."""
        self.in_flight = 0
        """Attempts that were handed to a lane and have not ended."""
        self.trials: list[TrialEnded] = []
        self.paused_until: Instant | None = None
        self.room = None if terms.rate is None else RateRoom(terms.rate)
        """The calls that it may begin; None without a rate."""
        self._budget = None if terms.retry_share is None else RetryBudget(terms.retry_share)
        self._is_plain = self._budget is None and self.room is None
        self._chance = chance
        self._ended = calls or Signal[CallEnded]()
        self._lock = threading.Lock()
        self._runs: list[list[int]] = []
        """How many were fine and how many failed, in turns."""
        self._calls = 0
        self._calls_in_order = 0 if terms.breaker is None else most_calls(terms.breaker)
        span_s = None if terms.breaker is None else terms.breaker.over_seconds
        self._bucket_us = (MEMORY_US if span_s is None else int(span_s * SECOND_US)) // BUCKETS
        self._earlier: deque[tuple[Instant, int]] = deque(maxlen=BUCKETS + 1)
        """Fine calls that were not worth telling, by when they were."""
        self._failures: deque[FailedCall] = deque(maxlen=MAX_FAILED_CALLS)
        """The latest calls that failed, until the fleet knows of them."""
        self._generation = 0

    def learn(self, state: UpstreamState, *, now: Instant) -> bool:
        """Take over what the store says, unless it is older; True when the gate has moved."""
        with self._lock:
            if state.revision < self.state.revision:
                return False
            before, self.state, self.read_at = self.state, state, now
            self._is_calm = admission(state, self.terms.breaker, now) is UNRESTRICTED
            if state.generation != self._generation:
                self._take_runs()
                self._earlier.clear()
                self._failures.clear()
                self._generation = state.generation
        return before.generation != state.generation or before.paused_until != state.paused_until

    def add(self, attempts: int = 1) -> None:
        """Count attempts that are handed to a lane."""
        with self._lock:
            self.in_flight += attempts

    def restricted(self, now: Instant) -> bool:
        """Return whether not everything is let through."""
        admitted = self._admission(now)
        return admitted.admits is not Admits.ALL or admitted.share < 1.0

    def held(self, now: Instant) -> bool:
        """Return whether jobs of this upstream stay in their queue."""
        admitted = self._admission(now)
        if admitted.admits is Admits.ALL:
            return False
        return admitted.rate_limited or self.mode is BreakerMode.HOLD

    @property
    def mode(self) -> BreakerMode:
        """What becomes of jobs while nothing is let through."""
        breaker = self.terms.breaker
        return BreakerMode.HOLD if breaker is None else BreakerMode(breaker.mode)

    def enter(self, attempt: int, permit: Permit | None, now: Instant) -> Ticket | Event:
        """Let a call begin, or return what becomes of the attempt of that number instead."""
        state = self.state
        if self._is_plain and self._admits_all(now):
            # Nearly all calls: made by its own name, a ticket takes twice as long.
            return _ticket(Ticket, (state.generation, None, now))
        admitted = self._admission(now)
        if admitted.admits is not Admits.ALL:
            on_trial = admitted.admits is Admits.TRIALS
            if on_trial and permit is not None and _is_valid(permit, state, now):
                if self.room is not None and not self.room.take(now):
                    self.return_permit(permit)
                    return Held(self.terms.name, RATE)
                return Ticket(state.generation, permit, now)
            return self._refuse(admitted, now)
        if self._budget is not None and not self._budget.allows(attempt, now):
            wait_us = int(SECOND_US * (0.5 + self._chance.roll()))
            return Held(self.terms.name, "RETRY_BUDGET", later(now, wait_us))
        if self.room is not None and not self.room.take(now):
            return Held(self.terms.name, RATE)
        return Ticket(state.generation, None, now)

    def leave(
        self, ticket: Ticket | None, event: Event | None, at: Instant, *, job_id: str | None = None
    ) -> bool:
        """Note how a call of a job ended; True when the store should hear of it soon."""
        fine = True if type(event) is Done else _verdict(event)
        if self._ended.listeners and ticket is not None:
            took_us = max(at - ticket.at, 0)
            self._ended.tell(CallEnded(self.terms.name, took_us, fine))
        with self._lock:
            self.in_flight -= 1
            if ticket is None:
                return False
            limited = (
                type(event) is Failed
                and event.failure.retry_after_us is not None
                and self._note_rate_limit(event.failure, at)
            )
            if ticket.permit is not None:
                permit = ticket.permit
                failed = _failed_call(event, at, job_id)
                self.trials.append(TrialEnded(permit.generation, permit.number, fine, failed))
                return True
            if fine is None or ticket.generation != self._generation:
                return limited
            runs = self._runs
            if fine and runs and not runs[-1][1]:
                # One more that was fine after another: nearly all of them.
                self._calls += 1
                runs[-1][0] += 1
            else:
                self._add(fine=fine)
            failed = None if fine else _failed_call(event, at, job_id)
            if failed is not None:
                self._failures.append(failed)
            return limited or not fine

    def opened_under(self, ticket: Ticket | None, failure: Failure) -> bool:
        """Return whether the breaker opened while this call was made, and the upstream failed it.

        Only a breaker that holds jobs gives them back; under any other they go on as they would.
        """
        state = self.state
        return (
            ticket is not None
            and ticket.permit is None
            and ticket.generation < state.generation
            and state.forced is None
            and state.gate is not Gate.CLOSED
            and failure.blames_upstream
            and self.mode is BreakerMode.HOLD
        )

    def return_permit(self, permit: Permit) -> None:
        """Give a permit back that no call was made with."""
        with self._lock:
            self.trials.append(TrialEnded(permit.generation, permit.number, None))

    def retries_left(self) -> float | None:
        """Return which share of the retries that may be saved up is left; None without a limit."""
        return None if self._budget is None else self._budget.left()

    def take_runs(self) -> tuple[tuple[int, int], ...]:
        """Return how calls have ended since this was last asked, in order."""
        with self._lock:
            return tuple((fine, failed) for fine, failed in self._take_runs())

    def _take_runs(self) -> list[list[int]]:
        runs, self._runs, self._calls = self._runs, [], 0
        return runs

    def take_failures(self) -> tuple[FailedCall, ...]:
        """Return the latest failed calls since this was last asked."""
        with self._lock:
            failures = tuple(self._failures)
            self._failures.clear()
        return failures

    def put_aside(self, now: Instant) -> None:
        """Keep the recent fine calls for when they are evidence beside failures."""
        with self._lock:
            fine = sum(count for count, _ in self._take_runs())
            if not fine:
                return
            if self._earlier and now - self._earlier[-1][0] < self._bucket_us:
                at, before = self._earlier.pop()
                self._earlier.append((at, before + fine))
            else:
                self._earlier.append((now, fine))

    def take_earlier(self) -> tuple[tuple[Instant, int], ...]:
        """Return the fine calls that were put aside."""
        with self._lock:
            earlier = tuple(self._earlier)
            self._earlier.clear()
        return earlier

    def has_failures(self) -> bool:
        """Return whether a call has failed since the runs were last taken."""
        return any(failed for _, failed in self._runs)

    def has_news(self) -> bool:
        """Return whether there is something that the fleet should hear of soon."""
        return self.paused_until is not None or bool(self.trials) or self.has_failures()

    def take_trials(self) -> list[TrialEnded]:
        """Return the trials that have ended since this was last asked."""
        with self._lock:
            trials, self.trials = self.trials, []
        return trials

    def take_rate_limit(self) -> RateLimited | None:
        """Return until when the upstream asked to be left alone, if it did."""
        with self._lock:
            until, self.paused_until = self.paused_until, None
        return None if until is None else RateLimited(until)

    def pause(self, until: Instant) -> None:
        """Leave the upstream alone until then, or for longer where that was asked before."""
        with self._lock:
            self.paused_until = max(until, self.paused_until or until)

    def _admits_all(self, now: Instant) -> bool:
        """Return whether everything is let through, as nearly always: what `_admission` may say."""
        return self._is_calm and self.paused_until is None and now - self.read_at <= STALE_US

    def _admission(self, now: Instant) -> Admission:
        """Return what is let through, as far as this worker knows and may believe."""
        if self._admits_all(now):
            return UNRESTRICTED
        admitted = admission(self.state, self.terms.breaker, now)
        if self.terms.breaker is not None and now - self.read_at > STALE_US:
            return admitted._replace(admits=Admits.NOTHING, rate_limited=False)
        if self.paused_until is not None and self.paused_until > now:
            return admitted._replace(admits=Admits.NOTHING, rate_limited=True)
        return admitted

    def _refuse(self, admitted: Admission, now: Instant) -> Event:
        name = self.terms.name
        if admitted.rate_limited:
            return Held(name, "RATE_LIMITED")
        if self.mode is BreakerMode.FAIL_FAST:
            return Failed(CIRCUIT_OPEN)
        if self.mode is BreakerMode.NOTICE:
            # Spread, so that what was put off together does not return together.
            spread_us = int(SECOND_US * (1 + self._chance.roll()))
            return Held(
                name, CIRCUIT_OPEN.error_class, later(max(admitted.until or now, now), spread_us)
            )
        return Held(name, CIRCUIT_OPEN.error_class)

    def _note_rate_limit(self, failure: Failure, at: Instant) -> bool:
        pause_us = pause_us_of(failure)
        if pause_us is None:
            return False
        self.paused_until = max(later(at, pause_us), self.paused_until or at)
        return True

    def _add(self, *, fine: bool) -> None:
        """Note a call: those that rules count in their order, what went before them as a sum."""
        runs = self._runs
        self._calls += 1
        this, other = (0, 1) if fine else (1, 0)
        if runs and not runs[-1][other]:
            runs[-1][this] += 1
            return
        runs.append([1, 0] if fine else [0, 1])
        if len(runs) > SUMMED:
            (fine_first, failed_first), second = runs[0], runs[1]
            summed = fine_first + failed_first + second[0] + second[1]
            if self._calls - summed >= self._calls_in_order:
                second[0] += fine_first
                second[1] += failed_first
                del runs[0]


class RetryBudget:
    """Lets retries be a share of first attempts, and one a second besides.

    Each worker keeps to the share, and so does the fleet.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._saved = MAX_RETRIES_SAVED
        self._floor_at: Instant | None = None
        self._lock = threading.Lock()

    def left(self) -> float:
        """Return how much is saved, of all that may be."""
        return self._saved / MAX_RETRIES_SAVED

    def allows(self, attempt: int, now: Instant) -> bool:
        """Return whether an attempt may begin; a first one always may, and saves for retries."""
        with self._lock:
            if attempt <= 1:
                self._saved = min(self._saved + self._share, MAX_RETRIES_SAVED)
                return True
            if self._saved >= 1:
                self._saved -= 1
                return True
            if self._floor_at is None or now - self._floor_at >= SECOND_US / RETRY_FLOOR_PER_S:
                self._floor_at = now
                return True
            return False


def _is_valid(permit: Permit, state: UpstreamState, now: Instant) -> bool:
    return permit.generation == state.generation and permit.until > now


def _failed_call(event: Event | None, at: Instant, job_id: str | None) -> FailedCall | None:
    if type(event) is not Failed:
        return None
    return failed_call(event.failure, at=at, job_id=job_id)


def _verdict(event: Event | None) -> bool | None:
    """Return whether an outcome speaks for the upstream, against it, or not at all."""
    if type(event) is Failed:
        return evidence_of(event.failure)
    return True if type(event) in _FINE else None
