"""How much memory the children of a process have had at most, watched from outside."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_LOOK_EVERY_S = 0.01


class Watch:
    """The largest resident set of any descendant so far, and how often one was seen."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self.looks = 0

    def look(self, process: int) -> None:
        for descendant in descendants(process):
            try:
                found = _PEAK.search(Path(f"/proc/{descendant}/status").read_text("utf-8"))
            except OSError:
                continue
            if found:
                self.looks += 1
                self.peak_bytes = max(self.peak_bytes, int(found[1]) * 1024)


def descendants(process: int) -> list[int]:
    """Return the processes that this one has started, and those that they have."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a hundred times a second: paths take longer
        if name.isdigit() and (parent := _parent_of(name)) is not None:
            parents.setdefault(parent, []).append(int(name))
    found: list[int] = []
    to_visit = [process]
    while to_visit:
        children = parents.get(to_visit.pop(), [])
        found += children
        to_visit += children
    return found


def _parent_of(process: str) -> int | None:
    try:
        file = os.open(f"/proc/{process}/stat", os.O_RDONLY)
        try:
            return int(os.read(file, 1024).rpartition(b")")[2].split()[1])
        finally:
            os.close(file)
    except OSError:
        return None  # it has ended


@contextmanager
def watched(process: int) -> Iterator[Watch]:
    """Watch the descendants of a process meanwhile."""
    watch = Watch()
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_EVERY_S):
            watch.look(process)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        done.set()
        thread.join()
