"""Named policies of retrying and of breakers, ready to use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Final

from holdfast.classify import usual_verdict
from holdfast.classify.facts.describe import causes_of
from holdfast.classify.facts.http import status_of
from holdfast.classify.table import Rule, Verdict
from holdfast.core.upstream.breaker_policy import MAX_CALLS, MAX_SECONDS, Breaker, BreakerMode
from holdfast.core.values.failure import BUG
from holdfast.core.values.instant import Instant
from holdfast.core.values.retry import MAX_ATTEMPTS, Jitter, Retry
from holdfast.errors import MAX_ERROR_CLASS_LENGTH, InvalidPolicy
from holdfast.variables import Variables

MAX_ATTEMPTS_VARIABLE: Final = "RETRY_MAX_ATTEMPTS"
BASE_DELAY_VARIABLE: Final = "RETRY_BASE_DELAY_MS"
JITTER_VARIABLE: Final = "RETRY_JITTER_MAX_MS"
WINDOW_VARIABLE: Final = "CIRCUIT_WINDOW"
THRESHOLD_VARIABLE: Final = "CIRCUIT_FAIL_THRESHOLD"
COOLDOWN_VARIABLE: Final = "CIRCUIT_COOLDOWN_MS"
MIN_CALLS_VARIABLE: Final = "CIRCUIT_MIN_CALLS"
MIN_WORKERS_VARIABLE: Final = "CIRCUIT_MIN_WORKERS"

_MAX_DELAY_MS: Final = 24 * 3600 * 1_000
_MAX_COOLDOWN_MS: Final = int(MAX_SECONDS * 1_000)
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,12}")
_TIME: Final = re.compile(r"([0-9]{1,6})(s|m|h)")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600}
_MAX_WINDOW_S: Final = 3600
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _attempts(given: Variables, *, default: int) -> int:
    return given.whole(MAX_ATTEMPTS_VARIABLE, default, least=1, most=MAX_ATTEMPTS)


def added_jitter(environment: Mapping[str, str]) -> Retry:
    """5 s, doubled by every failure, plus 0 to 5 s; 3 attempts.

    `RETRY_MAX_ATTEMPTS`, `RETRY_BASE_DELAY_MS` and `RETRY_JITTER_MAX_MS` override those numbers.
    """
    given = Variables.of(environment)
    base_ms = given.whole(BASE_DELAY_VARIABLE, 5_000, most=_MAX_DELAY_MS)
    jitter_ms = given.whole(JITTER_VARIABLE, 5_000, most=_MAX_DELAY_MS)
    return Retry(
        attempts=_attempts(given, default=3),
        base=base_ms / 1_000,
        factor=2.0,
        cap=None,
        jitter=Jitter.ADDED,
        spread=jitter_ms / 1_000,
    )


def fixed_spread(environment: Mapping[str, str]) -> Retry:
    """5, 15, then 45 s, each give or take a fifth; 3 attempts or `RETRY_MAX_ATTEMPTS`."""
    return Retry(
        attempts=_attempts(Variables.of(environment), default=3),
        delays=(5.0, 15.0, 45.0),
        jitter=Jitter.SPREAD,
        spread=0.2,
    )


def full_jitter(environment: Mapping[str, str]) -> Retry:
    """Anywhere up to 1 s, doubled by every failure up to 60 s; 5 attempts; Retry-After up to 5 min.

    `RETRY_MAX_ATTEMPTS` and `RETRY_BASE_DELAY_MS` override those numbers.
    """
    given = Variables.of(environment)
    base_ms = given.whole(BASE_DELAY_VARIABLE, 1_000, most=_MAX_DELAY_MS)
    return Retry(
        attempts=_attempts(given, default=5),
        base=base_ms / 1_000,
        factor=2.0,
        cap=max(60.0, base_ms / 1_000),
        jitter=Jitter.FULL,
        retry_after_ceiling=300.0,
    )


FULL_JITTER: Final = full_jitter({})
"""Anywhere up to 1 s, doubled by every failure up to 60 s; 5 attempts; Retry-After up to 5 min."""

ADDED_JITTER: Final = added_jitter({})
"""5 s, doubled by every failure, plus 0 to 5 s; 3 attempts."""

FIXED_SPREAD: Final = fixed_spread({})
"""5, 15, then 45 s, each give or take a fifth; 3 attempts."""

CAPPED: Final = Retry(
    attempts=4,
    base=1.0,
    factor=2.0,
    cap=300.0,
    jitter=Jitter.ADDED,
    spread=1.0,
    retry_after_ceiling=300.0,
)
"""1 s, doubled by every failure, plus 0 to 1 s, at most 300 s, as Retry-After is; 3 retries."""


def _window(given: Variables) -> tuple[int | None, float | None]:
    """Return over how many calls a rate is taken, or over how many seconds."""
    text = given.text(WINDOW_VARIABLE, "20")
    time = _TIME.fullmatch(text)
    calls = int(text) if _WHOLE_NUMBER.fullmatch(text) else 0
    if time is not None and 1 <= (seconds := int(time[1]) * _UNITS_S[time[2]]) <= _MAX_WINDOW_S:
        return None, float(seconds)
    if not 1 <= calls <= MAX_CALLS:
        limit = f"a number of calls from 1 to {MAX_CALLS}, or a time from 1s to 1h, such as 2m"
        raise given.invalid(WINDOW_VARIABLE, text, limit)
    return calls, None


def hold_queue(environment: Mapping[str, str]) -> Breaker:
    """Half of the last 20 calls open it for 30 s, and jobs stay queued.

    `CIRCUIT_WINDOW` (a number of calls, or a time such as `2m`), `CIRCUIT_FAIL_THRESHOLD` (a
    fraction) and `CIRCUIT_COOLDOWN_MS` override those numbers. `CIRCUIT_MIN_CALLS` says how many
    calls there must be for a rate to mean anything: all of the window, or 10 of a time.
    `CIRCUIT_MIN_WORKERS` says how many workers must have seen failures: 1.
    """
    given = Variables.of(environment)
    over_calls, over_seconds = _window(given)
    usual_calls = over_calls or 10
    return Breaker(
        failure_rate=given.number(THRESHOLD_VARIABLE, 0.5, least=0.01, most=1),
        over_calls=over_calls,
        over_seconds=over_seconds,
        minimum_calls=given.whole(
            MIN_CALLS_VARIABLE, usual_calls, least=1, most=over_calls or MAX_CALLS
        ),
        minimum_workers=given.whole(MIN_WORKERS_VARIABLE, 1, least=1, most=MAX_CALLS),
        cooldown=given.whole(COOLDOWN_VARIABLE, 30_000, least=1, most=_MAX_COOLDOWN_MS) / 1_000,
        growth=1.0,
    )


HOLD_QUEUE: Final = hold_queue({})
"""Half of the last 20 calls open it for 30 s, whichever workers made them; jobs stay queued."""

THREE_TRIALS: Final = Breaker(
    failure_rate=0.5,
    over_calls=20,
    strictly_above=True,
    cooldown=30.0,
    growth=1.0,
    trials=3,
    mode=BreakerMode.NOTICE,
)
"""More than half of the last 20 calls open it for 30 s, 3 trials close it; waiters are notified."""

FIVE_IN_A_ROW: Final = Breaker(
    consecutive=5,
    cooldown=60.0,
    growth=1.0,
    trials=1,
    successes=2,
    release=0.0,
    mode=BreakerMode.FAIL_FAST,
)
"""5 failures in a row open it for 60 s, 2 successes in trials close it; meanwhile calls fail."""

THREE_IN_A_ROW: Final = replace(FIVE_IN_A_ROW, consecutive=3, cooldown=30.0, cooldown_cap=None)
"""3 failures in a row open it for 30 s: for what has a fallback."""

OVER_MINUTES: Final = Breaker(
    failure_rate=0.5, over_seconds=180.0, minimum_workers=1, cooldown=30.0, growth=1.0
)
"""Half of the calls of 3 minutes, 10 at least, open it for 30 s, and jobs stay queued."""

OVER_MINUTES_FAIL_FAST: Final = replace(OVER_MINUTES, mode=BreakerMode.FAIL_FAST)
"""The same, but jobs fail at once, for those who would rather see it than wait."""


def retry_only(exceptions: AbstractSet[type[Exception]]) -> tuple[Rule, ...]:
    """Return rules by which these exceptions are retried and no others are.

    A listed exception that carries an HTTP status is judged by the status: that its class is
    worth a retry does not make a 404 worth one. What a library made of a listed exception, as
    requests does of a `ConnectionError`, is listed, too.
    """
    listed = tuple(sorted(_exception_kinds(exceptions), key=lambda kind: kind.__qualname__))
    return (
        Rule(listed, _verdict_of_listed),
        Rule(Exception, partial(_verdict_of_unlisted, listed)),
    )


def _verdict_of_listed(exception: Exception, now: Instant) -> Verdict:
    usual = usual_verdict(exception, now=now)
    if usual is not None and (usual.retryable or status_of(exception) is not None):
        return usual
    return Verdict(_error_class_after(type(exception)), retryable=True, outcome_known=False)


def _verdict_of_unlisted(
    listed: tuple[type[Exception], ...], exception: Exception, now: Instant
) -> Verdict:
    usual = usual_verdict(exception, now=now)
    if usual is None:
        return Verdict(BUG.error_class, retryable=False, severity=BUG.severity, outcome_known=False)
    if usual.retryable and any(isinstance(cause, listed) for cause in causes_of(exception)):
        return usual
    return replace(usual, retryable=False, category=usual.effective_category)


def _error_class_after(kind: type[Exception]) -> str:
    """ResourceExhausted becomes RESOURCE_EXHAUSTED."""
    words = _WORD_START.sub("_", kind.__name__).upper()
    name = "_".join(re.findall(r"[A-Z0-9]+", words))[:MAX_ERROR_CLASS_LENGTH].strip("_")
    return name if name[:1].isalpha() else "RETRYABLE"


def _exception_kinds(kinds: object) -> frozenset[type[Exception]]:
    if (
        not isinstance(kinds, AbstractSet)
        or not kinds
        or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds)
    ):
        limit = "a set of one or more exception classes"
        raise InvalidPolicy("retry_only", field="exceptions", value=kinds, limit=limit)
    return frozenset(kinds)
