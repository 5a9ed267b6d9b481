"""Which process this is, known without asking the system: connections do not outlive a fork."""

from __future__ import annotations

import os

_process = os.getpid()


def this_process() -> int:
    """Return the id of this process."""
    return _process


def _look_again() -> None:
    global _process  # noqa: PLW0603 - a process is one
    _process = os.getpid()


os.register_at_fork(after_in_child=_look_again)
