"""What was paid for already: answers outlive the attempt that failed after them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from criticizer.critique import Critique
from criticizer.reviewers.contract import Usage

MAX_REVIEWS: Final = 32
_ZERO: Final = Usage()


@dataclass(slots=True)
class _Bill:
    answers: dict[str, Critique] = field(default_factory=dict)
    usage: Usage | None = None


class Paid:
    """Answers by review and part, of the reviews that were asked about last.

    Any number of threads may use it. It lives as long as the process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bills: OrderedDict[str, _Bill] = OrderedDict()

    def answer(self, token: str, part: str) -> Critique | None:
        """Return what was answered for a part; None when nothing was."""
        with self._lock:
            return self._bill(token).answers.get(part)

    def record(self, token: str, part: str, answer: Critique | None, usage: Usage) -> None:
        """Keep what an answer took, and the answer if it was of use."""
        with self._lock:
            bill = self._bill(token)
            bill.usage = usage if bill.usage is None else bill.usage + usage
            if answer is not None:
                bill.answers[part] = answer

    def total(self, token: str) -> Usage:
        """Return what a review took so far, answers that were of no use included."""
        with self._lock:
            return self._bill(token).usage or _ZERO

    def _bill(self, token: str) -> _Bill:
        bill = self._bills.setdefault(token, _Bill())
        self._bills.move_to_end(token)
        while len(self._bills) > MAX_REVIEWS:
            self._bills.popitem(last=False)
        return bill
