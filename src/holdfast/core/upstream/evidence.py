"""What a breaker remembers of calls, and whether it is enough to open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.core.upstream.upstream import Sample
from holdfast.core.values.instant import SECOND_US, Instant

if TYPE_CHECKING:
    from holdfast.core.upstream.breaker_policy import Breaker

HEARING_US: Final = SECOND_US
"""How long other workers are given to speak before one worker's failures count as everybody's."""
MEMORY_US: Final = 600 * SECOND_US
"""How long a failure is remembered by a rule that counts calls."""
MAX_SAMPLES: Final = 1_000
BUCKETS: Final = 30
"""Into how many parts a span of time is divided; calls leave it part by part."""


def most_calls(policy: Breaker) -> int:
    """Return how many of the latest calls rules look at, in their order."""
    return max(policy.consecutive or 0, policy.over_calls or 0)


def kept(samples: tuple[Sample, ...], policy: Breaker, now: Instant) -> tuple[Sample, ...]:
    """Return the samples that a rule still looks at.

    The latest calls stay in their order. Of those before them, a rule about a span of time needs
    only how many each worker made, bucket by bucket. A rule about calls needs none of them, but
    the last word of each worker that spoke just now: one that makes many calls would otherwise
    push the others out, and seem to be alone.
    """
    timed = policy.over_seconds is not None
    span_us = int((policy.over_seconds or 0) * SECOND_US) if timed else MEMORY_US
    bucket_us = max(span_us // BUCKETS, 1)
    calls_left = most_calls(policy)
    latest: list[Sample] = []
    before: dict[tuple[int, str], Sample] = {}
    last_words: dict[str, Sample] = {}
    for sample in reversed(samples):
        if now - sample.at > span_us:
            continue
        newest = _newest(sample, calls_left)
        calls_left -= newest.fine + newest.failed
        _put_before(latest, newest, bucket_us)
        if newest is sample:
            continue
        rest = _of(sample, fine=sample.fine - newest.fine, failed=sample.failed - newest.failed)
        if timed:
            key = (sample.at // bucket_us, sample.worker)
            before[key] = _joined(rest, before[key]) if key in before else rest
        elif policy.minimum_workers > 1 and now - sample.at <= HEARING_US:
            last_words.setdefault(sample.worker, _newest(rest, 1))
    if not any(sample.failed for sample in (*before.values(), *latest)):
        # Without a failure there is nothing to remember: silence is the usual case.
        return ()
    among_latest = {sample.worker for sample in latest}
    pushed_out = sorted(word for word in last_words.values() if word.worker not in among_latest)
    return (*sorted(before.values()), *pushed_out, *reversed(latest))[-MAX_SAMPLES:]


def is_enough(samples: tuple[Sample, ...], policy: Breaker, *, fleet: int, now: Instant) -> bool:
    """Return whether a rule is broken, by more than one worker's own trouble."""
    return _trips(samples, policy) and _is_heard(samples, policy, fleet=fleet, now=now)


def broken_rule(samples: tuple[Sample, ...], policy: Breaker) -> str | None:
    """Return which rule is broken, by the calls that broke it; None when none is."""
    streak = _streak(samples)
    if policy.consecutive is not None and streak >= policy.consecutive:
        return "a call failed" if streak == 1 else f"{streak} calls in a row failed"
    if not _rate_is_exceeded(samples, policy):
        return None
    fine, failed = _counted(samples, policy.over_calls)
    if policy.over_seconds is not None:
        return f"{failed} of {fine + failed} calls within {policy.over_seconds:g} s failed"
    return f"{failed} of the last {fine + failed} calls failed"


def _newest(sample: Sample, calls: int) -> Sample:
    """Return a sample cut to its last calls; the very same when that is all of them."""
    if sample.fine + sample.failed <= calls:
        return sample
    failed = min(sample.failed, calls)
    return _of(sample, fine=min(sample.fine, calls - failed), failed=failed)


def _of(sample: Sample, *, fine: int, failed: int) -> Sample:
    """Return other calls of the same worker and instant."""
    return Sample(sample.at, sample.worker, fine, failed)


def _put_before(latest: list[Sample], sample: Sample, bucket_us: int) -> None:
    """Add the next older sample, to its neighbour when the order of the calls stays known."""
    if not (sample.fine or sample.failed):
        return
    after = latest[-1] if latest else None
    if (
        after is not None
        and sample.worker == after.worker
        and sample.at // bucket_us == after.at // bucket_us
        and (sample.failed == 0 or after.fine == 0)
    ):
        latest[-1] = _joined(sample, after)
    else:
        latest.append(sample)


def _joined(first: Sample, second: Sample) -> Sample:
    return Sample(
        min(first.at, second.at),
        first.worker,
        first.fine + second.fine,
        first.failed + second.failed,
    )


def _trips(samples: tuple[Sample, ...], policy: Breaker) -> bool:
    if policy.consecutive is not None and _streak(samples) >= policy.consecutive:
        return True
    return _rate_is_exceeded(samples, policy)


def _rate_is_exceeded(samples: tuple[Sample, ...], policy: Breaker) -> bool:
    if policy.failure_rate is None:
        return False
    fine, failed = _counted(samples, policy.over_calls)
    calls = fine + failed
    if calls < (policy.minimum_calls or 1):
        return False
    # Divided, so that 7 of 25 is exactly the 0.28 that was written; 0.28 * 25 is more than 7.
    rate = failed / calls
    return rate > policy.failure_rate if policy.strictly_above else rate >= policy.failure_rate


def _counted(samples: tuple[Sample, ...], over_calls: int | None) -> tuple[int, int]:
    """Return how many calls were fine and failed, of all or of the last `over_calls`."""
    fine = failed = 0
    for sample in reversed(samples):
        newest = sample if over_calls is None else _newest(sample, over_calls - fine - failed)
        fine += newest.fine
        failed += newest.failed
    return fine, failed


def _streak(samples: tuple[Sample, ...]) -> int:
    failed = 0
    for sample in reversed(samples):
        failed += sample.failed
        if sample.fine:
            break
    return failed


def _is_heard(samples: tuple[Sample, ...], policy: Breaker, *, fleet: int, now: Instant) -> bool:
    """Return whether the evidence is more than one worker's own trouble."""
    failing = {sample.worker for sample in samples if sample.failed}
    heard = {sample.worker for sample in samples}
    if len(failing) >= min(policy.minimum_workers, max(fleet, 1)):
        return True
    if len(failing) < len(heard):
        return False
    # Nobody else has spoken, and may not call this upstream at all.
    first = min(sample.at for sample in samples if sample.failed)
    return now - first >= HEARING_US
