"""Pushes of Pub/Sub: one that is genuine makes a poll come sooner, and can do nothing else."""

from __future__ import annotations

import hmac
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from collabiq.gmail.google_keys import KeysUnavailable
from collabiq.gmail.push_tokens import PushTokens
from collabiq.refusals import Refused

SECRET: Final = "GMAIL_NOTIFICATION_SECRET"  # noqa: S105 - a name
ACCOUNT: Final = "GMAIL_NOTIFICATION_ACCOUNT"
AUDIENCE: Final = "GMAIL_NOTIFICATION_AUDIENCE"
MAX_PER_MINUTE: Final = 60
_MINUTE_S: Final = 60.0


class NotificationRefused(Refused):
    """A push brings neither the secret nor a token of Google, or neither is set."""

    def __init__(self) -> None:
        super().__init__(
            "notification_refused",
            f"send the secret of {SECRET} as a bearer token or as ?token=, or have Pub/Sub sign "
            f"its pushes as {ACCOUNT} for {AUDIENCE}",
            status=401,
        )


class NotificationUnverified(Refused):
    """Whether Google has signed a push cannot be found out now; Pub/Sub sends it again."""

    def __init__(self, why: str) -> None:
        super().__init__("notification_unverified", why, status=503)


class TooManyNotifications(Refused):
    """More pushes than anybody needs."""

    def __init__(self) -> None:
        super().__init__(
            "too_many_notifications", "the mailbox is polled soon in any case", status=429
        )


class Notifications:
    """Takes pushes that bring the shared secret or a token of Google's, so many a minute.

    What stands in a push is not looked at: the mailbox itself says what is new. Where neither is
    set every push is refused, whatever it brings.
    """

    def __init__(
        self,
        *,
        secret: Callable[[], str | None],
        on_push: Callable[[], object],
        signed: PushTokens | None = None,
        max_per_minute: int = MAX_PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secret, self._on_push, self._signed = secret, on_push, signed
        self._max_per_minute, self._clock = max_per_minute, clock
        self._lock = threading.Lock()
        self._taken: deque[float] = deque()

    def take(self, *, authorization: str | None = None, token: str | None = None) -> None:
        """Have the mailbox polled soon.

        Raises `NotificationRefused`, `NotificationUnverified` and `TooManyNotifications`.
        """
        scheme, _, bearer = (authorization or "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else ""
        wanted = self._secret() or ""
        candidates = [each for each in (given, token or "") if each]
        is_known = bool(wanted) and any(_equal(each, wanted) for each in candidates)
        if not is_known and not self._is_signed(given):
            raise NotificationRefused
        with self._lock:
            now_s = self._clock()
            while self._taken and now_s - self._taken[0] >= _MINUTE_S:
                self._taken.popleft()
            if len(self._taken) >= self._max_per_minute:
                raise TooManyNotifications
            self._taken.append(now_s)
        self._on_push()

    def _is_signed(self, given: str) -> bool:
        if self._signed is None or not given:
            return False
        try:
            return self._signed.accepts(given)
        except KeysUnavailable as error:
            raise NotificationUnverified(str(error)) from None


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
