"""The table that holds everywhere, and the classification of what a handler raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.classify.libraries import LIBRARIES
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.standard import GIVE_UP, STANDARD
from holdfast.classify.table import Table, failure_by
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import Instant

EVERYWHERE: Final = Table((GIVE_UP, *LIBRARIES, *STANDARD))
"""What handlers give up, then what is known of libraries, then of the standard library."""


def classify(exception: BaseException, rules: Sequence[Rule] = (), *, now: Instant) -> Failure:
    """Return the failure that an exception raised by a handler means.

    `rules` come first, then those that hold everywhere; `now` dates a Retry-After. What is no
    failure (a cancellation, a signal, an exit, a postponement) is raised again as it came.
    """
    failure = failure_of(exception, rules, now=now)
    if failure is None:
        raise exception
    return failure


def failure_of(
    exception: BaseException, rules: Sequence[Rule] = (), *, now: Instant
) -> Failure | None:
    """As `classify`; None for what is no failure."""
    # A handler that gives up knows better than any rule.
    first = (GIVE_UP, *rules) if rules else ()
    return failure_by(exception, first, table=EVERYWHERE, now=now)


def usual_verdict(exception: BaseException, *, now: Instant) -> Verdict | None:
    """What the rules that hold everywhere say of this one exception; None when they know it not."""
    return EVERYWHERE.verdict_on(exception, now=now)
