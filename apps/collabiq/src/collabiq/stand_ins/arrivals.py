"""Mails that arrive in the mailbox of the stand-ins, one by one or many at once."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from collabiq.samples import Sample, mailbox
from collabiq.stand_ins.world import StandInWorld

EVERY_S: Final = 4.0
"""How often a mail arrives."""
BURST: Final = 60
"""How many arrive at once."""
MODES: Final = ("arriving", "paused", "burst")
_SMALL_BYTES: Final = 100_000
_MESSAGE_ID: Final = re.compile(rb"^(Message-ID:\s*<)", re.MULTILINE | re.IGNORECASE)


class Post:
    """Delivers the sample mails, each once; `run` sets their Message-IDs apart from other runs'."""

    def __init__(self, world: StandInWorld, *, run: int = 0) -> None:
        self.mode = MODES[0]
        self._world = world
        self._run = run
        self._rounds = itertools.count()
        self._lock = threading.Lock()
        self._next = self._round()

    def arrive(self) -> bool:
        """Have the next mail arrive, unless that is paused; return whether one did."""
        with self._lock:
            sample = next(self._next, None) if self.mode == MODES[0] else None
        if sample is None:
            return False
        self._world.deliver([sample])
        return True

    def set_mode(self, mode: str) -> None:
        """Have mails arrive, or none; `burst` delivers many now and changes nothing else."""
        if mode != "burst":
            self.mode = mode
            return
        many = itertools.chain.from_iterable(self._round() for _ in itertools.count())
        small = (each for each in many if len(each.raw) < _SMALL_BYTES)
        self._world.deliver(list(itertools.islice(small, BURST)))

    def _round(self) -> Iterator[Sample]:
        # Made when the first of them arrives: together they have 15 MB.
        number = next(self._rounds)
        for each in mailbox():
            yield marked(each, f"{self._run:x}-{number}")


class Arrivals:
    """A service that calls a function every few seconds until it is stopped."""

    def __init__(self, arrive: Callable[[], object], *, every_s: float = EVERY_S) -> None:
        self._arrive, self._every_s = arrive, every_s
        self._stopping = threading.Event()

    def run(self, *, handle_signals: bool = True) -> int:
        """Call it until stopped."""
        del handle_signals
        while not self._stopping.wait(self._every_s):
            self._arrive()
        return 0

    def request_stop(self) -> None:
        """Have `run` return."""
        self._stopping.set()


def marked(sample: Sample, mark: str) -> Sample:
    """Return a mail with a Message-ID that has this mark, so that it is no copy of another's."""
    raw = _MESSAGE_ID.sub(rb"\g<1>" + f"{mark}.".encode(), sample.raw, count=1)
    return replace(sample, raw=raw)
