"""Guard: breaker, rate, timeout and retries around a call that belongs to no job."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar
from types import CoroutineType
from typing import Any, Final, ParamSpec, TypeVar

from holdfast.classify import classify, is_failure
from holdfast.classify.table import Rule
from holdfast.core.upstream.breaker import ResetAsked, evidence_of, pause_us_of
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.retry import Retry
from holdfast.errors import CircuitOpen, InvalidPolicy, UsageError
from holdfast.guard.local_breaker import LocalBreaker, Ticket
from holdfast.guard.local_rate import LocalRate
from holdfast.guard.timeouts import Alarm, AlarmClock
from holdfast.pipeline.names import Span, checked_name, span_us
from holdfast.runtime.kernel.clock import Chance, Clock, process_time, sleep_s

_ENDS_AT: Final[ContextVar[Instant | None]] = ContextVar("holdfast.guard.ends_at", default=None)

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Guard:
    """Calls an upstream by its policies: a breaker and a rate in memory, a timeout, retries.

        payments = Guard("payments", breaker=Breaker(), timeout=10, retry=Retry(attempts=3))

        payments.call(charge, order)         # a plain function
        await payments.acall(charge, order)  # one that is awaited


        @payments
        def refund(order): ...

    What a call raises in the end is what the function raised last, or `CircuitOpen` when the
    breaker let none begin. With a `rate` calls of this process wait for their turn, or raise
    `CircuitOpen` when that would come after the deadline.

    `timeout` is for each attempt, `deadline` for all of them and the waits in between. A
    coroutine that takes longer is cancelled. A plain function cannot be stopped: it finds in
    `time_left` what it may pass on to whatever it calls, and no attempt begins that the deadline
    would not let begin. One guard serves any number of threads and loops.
    """

    def __init__(
        self,
        name: str,
        *,
        breaker: Breaker | None = None,
        rate: Rate | None = None,
        timeout: Span | None = None,
        retry: Retry | None = None,
        deadline: Span | None = None,
        rules: Sequence[Rule] = (),
        clock: Clock | None = None,
        chance: Chance | None = None,
        sleep: Callable[[float], Any] | None = None,
    ) -> None:
        self.name = checked_name(name, what="guard")
        owner = f"guard {name}"
        for field, policy, kind in (
            ("breaker", breaker, Breaker),
            ("rate", rate, Rate),
            ("retry", retry, Retry),
        ):
            if policy is not None and not isinstance(policy, kind):
                limit = f"a {kind.__name__} or left out"
                raise InvalidPolicy(owner, field=field, value=policy, limit=limit)
        self._timeout_us = span_us(timeout, owner=owner, field="timeout")
        self._deadline_us = span_us(deadline, owner=owner, field="deadline")
        self._timed = self._timeout_us is not None or self._deadline_us is not None
        self._retry = retry
        self._rules = tuple(rules)
        self._now: Callable[[], Instant] = process_time() if clock is None else clock.now
        self._chance = chance or Chance()
        self._sleep = sleep
        self._breaker = (
            None
            if breaker is None
            else LocalBreaker(self.name, breaker, now=self._now, chance=self._chance)
        )
        self._rate = None if rate is None else LocalRate(self.name, rate)
        self._alarms = AlarmClock((self._timeout_us or 0) / SECOND_US)

    def __repr__(self) -> str:
        return f"Guard({self.name!r}, {self.gate.value})"

    @property
    def gate(self) -> Gate:
        """How the breaker stands: closed, open or half open."""
        return Gate.CLOSED if self._breaker is None else self._breaker.state.gate

    @property
    def time_left(self) -> float | None:
        """The seconds that the attempt under way has left; None without a limit."""
        ends_at = _ENDS_AT.get()
        return None if ends_at is None else max(ends_at - self._now(), 0) / SECOND_US

    def reset(self) -> None:
        """Declare the upstream well: everything known about it is forgotten."""
        if self._breaker is not None:
            self._breaker.meet(ResetAsked())

    def __call__(self, function: Callable[_P, _R], /) -> Callable[_P, _R]:
        """Return the function with this guard around every call of it."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise UsageError(
                f"guard {self.name} cannot stand around a generator, which does its work later; "
                "guard the calls inside it"
            )
        guarded: Any = (
            self._guarding_async(function)
            if inspect.iscoroutinefunction(function)
            else self._guarding(function)
        )
        wrapped: Callable[_P, _R] = functools.wraps(function)(guarded)
        return wrapped

    def _guarding(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        call = self.call

        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            return call(function, *args, **kwargs)

        return guarded

    def _guarding_async(
        self, function: Callable[_P, Awaitable[_R]]
    ) -> Callable[_P, Coroutine[Any, Any, _R]]:
        acall = self.acall

        async def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            return await acall(function, *args, **kwargs)

        return guarded

    def call(self, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call a plain function by this guard's policies."""
        breaker, rate, attempt = self._breaker, self._rate, 1
        ends_by = last = None
        while True:
            ticket: Ticket = 0
            if rate is not None:
                ends_by = self._ends(self._now(), ends_by)[1]
                (self._sleep or sleep_s)(self._turn_s(rate, ends_by, last))
            if breaker is not None:
                ticket = breaker.generation if breaker.plain else self._enter(breaker, last)
            token = None
            if self._timed:
                ends_at, ends_by = self._ends(self._now(), ends_by)
                token = _ENDS_AT.set(ends_at)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                wait_s = self._after(error, ticket, attempt, ends_by)
                if wait_s is None:
                    raise
                last = error
            else:
                if result.__class__ is CoroutineType:
                    raise self._not_awaited(result, ticket)
                if breaker is not None:
                    breaker.fine(ticket)
                return result
            finally:
                if token is not None:
                    _ENDS_AT.reset(token)
            (self._sleep or sleep_s)(wait_s)
            attempt += 1

    async def acall(
        self, function: Callable[_P, Awaitable[_R]], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _R:
        """Call a function by this guard's policies and await what it returns."""
        breaker, rate, attempt = self._breaker, self._rate, 1
        ends_by = last = None
        while True:
            ticket: Ticket = 0
            if rate is not None:
                ends_by = self._ends(self._now(), ends_by)[1]
                await self._pass(self._turn_s(rate, ends_by, last))
            if breaker is not None:
                ticket = breaker.generation if breaker.plain else self._enter(breaker, last)
            token = alarm = None
            if self._timed:
                now = self._now()
                ends_at, ends_by = self._ends(now, ends_by)
                token = _ENDS_AT.set(ends_at)
                alarm = self._alarm(ends_at - now)
            try:
                result = await function(*args, **kwargs)
            except BaseException as error:
                failed: BaseException = error
                if alarm is not None and alarm.stop() and isinstance(error, asyncio.CancelledError):
                    failed = TimeoutError(f"{self.name} did not answer in time")
                wait_s = self._after(failed, ticket, attempt, ends_by)
                if wait_s is None and failed is error:
                    raise
                if wait_s is None:
                    raise failed from error
                last = failed
            else:
                if alarm is not None:
                    alarm.stop()
                if breaker is not None:
                    breaker.fine(ticket)
                return result
            finally:
                if token is not None:
                    _ENDS_AT.reset(token)
            await self._pass(wait_s)
            attempt += 1

    async def _pass(self, wait_s: float) -> None:
        if self._sleep is None:
            await asyncio.sleep(wait_s)
            return
        passed = self._sleep(wait_s)
        if inspect.isawaitable(passed):
            await passed

    def _enter(self, breaker: LocalBreaker, last: BaseException | None) -> Ticket:
        """Let an attempt begin; where one was made before, how that one failed tells more."""
        try:
            return breaker.enter(self._now())
        except CircuitOpen:
            if last is None:
                raise
        raise last

    def _turn_s(
        self, rate: LocalRate, ends_by: Instant | None, last: BaseException | None
    ) -> float:
        """Return how long to wait for room; where an attempt failed before, that tells more."""
        now, breaker = self._now(), self._breaker
        if breaker is not None and breaker.refuses_at(now):
            # No call is made, so none is counted.
            return 0.0
        try:
            return rate.wait_s(now, ends_by=ends_by)
        except CircuitOpen:
            if last is None:
                raise
        raise last

    def _ends(self, now: Instant, ends_by: Instant | None) -> tuple[Instant, Instant | None]:
        """Return when the attempt begun at `now` ends, and when the whole call does."""
        timeout_us, deadline_us = self._timeout_us, self._deadline_us
        if deadline_us is None:
            return Instant(now + (timeout_us or 0)), None
        ends_by = ends_by or Instant(now + deadline_us)
        return min(ends_by, Instant(now + (timeout_us or deadline_us))), ends_by

    def _alarm(self, span_us: int) -> Alarm:
        if span_us == self._timeout_us:
            return self._alarms.start()
        return Alarm.alone(span_us / SECOND_US)

    def _not_awaited(self, coroutine: Any, ticket: Ticket) -> UsageError:  # noqa: ANN401
        coroutine.close()
        if self._breaker is not None:
            self._breaker.ended(ticket)
        return UsageError(f"guard {self.name} was given a coroutine function; use acall for it")

    def _after(
        self, error: BaseException, ticket: Ticket, attempt: int, ends_by: Instant | None
    ) -> float | None:
        """Return how long to wait before the next attempt; None when there is none."""
        breaker = self._breaker
        if not is_failure(error):
            if breaker is not None:
                breaker.ended(ticket)
            return None
        now = self._now()
        failure = classify(error, self._rules, now=now)
        if breaker is not None:
            self._tell(breaker, ticket, failure, late=ends_by is not None and now >= ends_by)
        delay_us = self._delay_us(failure, attempt)
        if delay_us is None:
            return None
        again_at = later(now, delay_us)
        if ends_by is not None and again_at >= ends_by:
            return None
        if breaker is not None and breaker.refuses_at(again_at):
            return None
        return delay_us / SECOND_US

    def _tell(self, breaker: LocalBreaker, ticket: Ticket, failure: Failure, *, late: bool) -> None:
        """Tell the breaker of a failure; what the deadline cut short is nobody's fault."""
        evidence = None if late else evidence_of(failure)
        if evidence is None:
            breaker.ended(ticket)
        elif evidence:
            breaker.fine(ticket)
        else:
            breaker.failed(ticket)
        pause_us = pause_us_of(failure)
        if pause_us is not None:
            breaker.pause(later(self._now(), pause_us))

    def _delay_us(self, failure: Failure, attempt: int) -> int | None:
        retry = self._retry
        if retry is None or not failure.retryable or retry.exhausted(attempt):
            return None
        if failure.attempts is not None and attempt >= failure.attempts:
            return None
        return retry.delay_us(
            failures=attempt, roll=self._chance.roll(), retry_after_us=failure.retry_after_us
        )
