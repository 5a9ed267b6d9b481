"""How much one may send, and how much may be under way."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from converter.refusals import QuotaReached, TooManyUploads

MINUTE_US: Final = 60_000_000
MAX_OWNERS: Final = 10_000
T = TypeVar("T")


class Fill(Protocol):
    """Makes what a place was held for."""

    def __call__(self, make: Callable[[], T]) -> T:
        """Return what `make` makes."""


class TooLarge(Exception):
    """There is more of it than one may send."""


def limited(chunks: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield the chunks as they come, or raise `TooLarge` once there are too many bytes."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most_bytes:
            raise TooLarge
        yield chunk


class Quota:
    """How many conversions one owner may have under way.

    Places are held while a file is being sent, so that files sent at the same time cannot share
    the last one; of several servers each counts what all have made, and what itself is sent.
    """

    def __init__(self, most: int, *, under_way: Callable[[str, int], int]) -> None:
        """`under_way` counts an owner's conversions, up to a number."""
        self._most = most
        self._under_way = under_way
        self._held: Counter[str] = Counter()
        self._turn = threading.Lock()

    @contextmanager
    def place(self, owner: str) -> Generator[Fill]:
        """Hold a place, or raise `QuotaReached`; yields what makes the conversion it is held for.

        What it makes counts from the moment the place no longer does.
        """
        with self._turn:
            if self._held[owner] + self._under_way(owner, self._most) >= self._most:
                raise QuotaReached(self._most)
            self._held[owner] += 1
        holds = True

        def fill(make: Callable[[], T]) -> T:
            nonlocal holds
            with self._turn:
                made = make()
                self._release(owner)
                holds = False
            return made

        try:
            yield fill
        finally:
            if holds:
                with self._turn:
                    self._release(owner)

    def _release(self, owner: str) -> None:
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]


class Pace:
    """How many files one owner may send in a minute.

    Each server counts all that it is sent, also what it refuses or knows already, and of the
    others what became a conversion.
    """

    def __init__(
        self,
        most: int,
        *,
        now: Callable[[], int],
        made: Callable[[str, int, int], list[int]],
    ) -> None:
        """`made` returns when an owner's newest conversions were made: since when, and how many."""
        self._most = most
        self._now = now
        self._made = made
        self._sent: dict[str, deque[int]] = {}
        self._turn = threading.Lock()

    def enter(self, owner: str) -> None:
        """Count a file, or raise `TooManyUploads`; times are in microseconds."""
        now = self._now()
        since = now - MINUTE_US
        with self._turn:
            sent = self._sent_since(owner, since)
            if len(sent) >= self._most:
                self._refuse(sent[0], now)
            made = self._made(owner, since, self._most)
            if len(made) >= self._most:
                self._refuse(min(made), now)
            sent.append(now)

    def _sent_since(self, owner: str, since: int) -> deque[int]:
        if len(self._sent) >= MAX_OWNERS:
            self._sent = {
                name: sent for name, sent in self._sent.items() if sent and sent[-1] > since
            }
        sent = self._sent.setdefault(owner, deque(maxlen=self._most))
        while sent and sent[0] <= since:
            sent.popleft()
        return sent

    def _refuse(self, oldest: int, now: int) -> None:
        raise TooManyUploads(self._most, wait_s=max((oldest + MINUTE_US - now) / 1_000_000, 1.0))
