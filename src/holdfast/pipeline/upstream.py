"""An upstream, as pipelines declare it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.classify.table import Rule
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidPolicy
from holdfast.pipeline.names import Span, checked_name, span_us
from holdfast.runtime.kernel.stage import UpstreamTerms

MAX_PLACES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Upstream:
    """A named outside service that stages call, with the policies of calling it.

    `probe` tells how it is while its breaker is open, by returning or raising; without one, jobs
    are its trials. `retry_budget` is the share of first attempts that retries may make up.
    `concurrency` is how many calls one worker may have under way. `rate` is how many the whole
    fleet may begin in a while; jobs wait in their queue for their turn. An attempt is one call.
    """

    name: str
    timeout: Span | None = None
    retry: Retry | None = None
    rules: Sequence[Rule] = ()
    breaker: Breaker | None = None
    probe: Callable[[], Any] | None = None
    retry_budget: float | None = None
    concurrency: int | None = None
    rate: Rate | None = None

    def __post_init__(self) -> None:
        checked_name(self.name, what="upstream")
        owner = f"upstream {self.name}"
        span_us(self.timeout, owner=owner, field="timeout")
        budget: object = self.retry_budget
        if budget is not None and (
            isinstance(budget, bool) or not isinstance(budget, int | float) or not 0 <= budget <= 1
        ):
            raise InvalidPolicy(
                owner, field="retry_budget", value=budget, limit="a number from 0 to 1"
            )
        places: object = self.concurrency
        if places is not None and (type(places) is not int or not 1 <= places <= MAX_PLACES):
            raise InvalidPolicy(
                owner,
                field="concurrency",
                value=places,
                limit=f"a whole number from 1 to {MAX_PLACES}",
            )
        rate: object = self.rate
        if rate is not None and not isinstance(rate, Rate):
            raise InvalidPolicy(owner, field="rate", value=rate, limit="a Rate or left out")
        if self.probe is not None and self.breaker is None:
            raise InvalidPolicy(owner, field="probe", value=self.probe, limit="used with a breaker")

    def terms(self) -> UpstreamTerms:
        """Return what a worker goes by."""
        return UpstreamTerms(
            self.name,
            self.breaker,
            self.probe,
            self.retry_budget,
            self.concurrency,
            self.rate,
        )
