"""Pushes of Pub/Sub: whoever may send one makes a poll come sooner, and can do nothing else."""

from __future__ import annotations

import hmac
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from collabiq.refusals import Refused

SECRET: Final = "GMAIL_NOTIFICATION_SECRET"  # noqa: S105 - a name
MAX_PER_MINUTE: Final = 60
_MINUTE_S: Final = 60.0


class NotificationRefused(Refused):
    """A push does not bring the secret, or there is none to bring."""

    def __init__(self) -> None:
        super().__init__(
            "notification_refused",
            f"send the secret that {SECRET} has, as a bearer token or as ?token=",
            status=401,
        )


class TooManyNotifications(Refused):
    """More pushes than anybody needs."""

    def __init__(self) -> None:
        super().__init__(
            "too_many_notifications", "the mailbox is polled soon in any case", status=429
        )


class Notifications:
    """Takes pushes that bring the shared secret, so many a minute.

    What stands in a push is not looked at: the mailbox itself says what is new. Without a secret
    every push is refused, whatever it brings.
    """

    def __init__(
        self,
        *,
        secret: Callable[[], str | None],
        on_push: Callable[[], object],
        max_per_minute: int = MAX_PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secret, self._on_push = secret, on_push
        self._max_per_minute, self._clock = max_per_minute, clock
        self._lock = threading.Lock()
        self._taken: deque[float] = deque()

    def take(self, *, authorization: str | None = None, token: str | None = None) -> None:
        """Have the mailbox polled soon; raises `NotificationRefused`, `TooManyNotifications`."""
        scheme, _, bearer = (authorization or "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else ""
        wanted = self._secret() or ""
        candidates = [each for each in (given, token or "") if each]
        if not wanted or not any(_equal(each, wanted) for each in candidates):
            raise NotificationRefused
        with self._lock:
            now_s = self._clock()
            while self._taken and now_s - self._taken[0] >= _MINUTE_S:
                self._taken.popleft()
            if len(self._taken) >= self._max_per_minute:
                raise TooManyNotifications
            self._taken.append(now_s)
        self._on_push()


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
