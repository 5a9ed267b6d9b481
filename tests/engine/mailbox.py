"""A provider in memory that keeps its promise by the test's clock, and fails when told to."""

from collections import Counter, deque
from typing import Any

from holdfast import Holdfast, Retry
from holdfast.classify import ProviderError, QuotaExceeded, Verdict, Window
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.deliveries import CourierOptions, Evidence, Promise
from holdfast.testing import ManualClock

BOTH = Promise(dedupes_for=24 * 3600, lookup_lag=30)
LOOKUP = Promise(lookup_lag=30)
DEDUPES = Promise(dedupes_for=24 * 3600)
NEITHER = Promise()
OPTIONS = CourierOptions(
    timeout=10,
    lease=30,
    retry=Retry(attempts=3, base=8, factor=1, jitter="none"),
    lookup=Retry(attempts=3, base=4, factor=1, jitter="none"),
)


def one(app: Holdfast, to: str = "jane@example.test", **options: Any) -> str:
    """Have one recipient told, and return the id of the delivery."""
    given = {"recipients": [to], "message": {"text": "hello"}, **options}
    (view,) = app.deliver("review-1", **given)
    return view.id


def state(app: Holdfast, delivery_id: str) -> str:
    return app.deliveries.get(delivery_id).state.value


FAILURES = {
    "busy": Verdict("RATE_LIMITED", retryable=True),
    "unwell": Verdict("UPSTREAM_5XX", retryable=True, outcome_known=False),
    "refused": Verdict("INVALID", retryable=False),
    "never arrived": Verdict("NETWORK", retryable=True, outcome_known=False),
    "accepted, no answer": Verdict("NETWORK_TIMEOUT", retryable=True, outcome_known=False),
    "accepted, unreadable": Verdict("BUG", retryable=False, outcome_known=False),
}


class Mailbox:
    """Takes messages; `next` holds what happens to the next sends, then everything is fine."""

    def __init__(self, clock: ManualClock, promise: Promise, *, name: str = "mail") -> None:
        self.name = name
        self.promise = promise
        self.clock = clock
        self.next: deque[str] = deque()
        self.lookups_down = False
        self.finds_after = promise.lookup_lag or 0.0
        self.forgets = False
        self.messages: list[dict[str, Any]] = []
        """What recipients were told: the provider's own ledger."""
        self.sends: list[str] = []
        self.lookups: list[str] = []
        self._accepted: dict[str, Instant] = {}

    def lose(self) -> None:
        """Forget everything that was accepted, as if nothing had been."""
        self.messages.clear()
        self._accepted.clear()

    def told(self) -> Counter[str]:
        return Counter(message["to"] for message in self.messages)

    def send(self, message: Any, *, token: str, timeout_s: float) -> Evidence:
        self.sends.append(token)
        how = self.next.popleft() if self.next else "fine"
        if how == "fine" or how.startswith("accepted"):
            self._accept(dict(message), token)
        if how == "quota used up":
            raise QuotaExceeded(how, window=Window.DAY)
        if how in FAILURES:
            raise ProviderError(FAILURES[how], how)
        return Evidence(f"m-{token[:6]}")

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        self.lookups.append(token)
        if self.lookups_down:
            raise ProviderError(FAILURES["never arrived"], "down")
        at = None if self.forgets else self._accepted.get(token)
        if at is None or self.clock.now() - at < self.finds_after * SECOND_US:
            return None
        return Evidence(f"m-{token[:6]}")

    def _accept(self, message: dict[str, Any], token: str) -> None:
        window, now = self.promise.dedupes_for, self.clock.now()
        first = self._accepted.get(token)
        if first is None or window is None or now - first >= window * SECOND_US:
            self._accepted[token] = now
            self.messages.append(message)
