"""A system as it is deployed: a process of `holdfast up`, and what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from tests.warm.process import WarmProcess

PATIENCE_S: Final = 90.0
OPERATOR: Final = "an-operators-own-token-of-enough-length"
"""With it in the environment, whoever comes without a token is a stranger, or a walk-in."""
QUICK: Final = {"CIRCUIT_WINDOW": "1000", "HOLDFAST_POLL": "100ms", "HOLDFAST_SWEEP": "100ms"}
"""What makes any system look often, and its breakers wait for more failures than a test makes."""
_FOREIGN: Final = ("HOLDFAST_", "WORKER_", "RETRY_", "CIRCUIT_")
_ADDRESS: Final = re.compile(r"http://[\w.]+:\d+")
T = TypeVar("T")


def eventually(look: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S) -> T:
    """Return the first true answer, or fail saying what was waited for."""
    until = time.monotonic() + patience_s
    while not (found := look()):
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.05)
    return found


def surroundings(own: Mapping[str, str], *, foreign: Iterable[str]) -> dict[str, str]:
    """Return an environment of these variables, without any that could be meant for a system.

    `foreign` are how the names of the system's own variables begin.
    """
    hidden = (*_FOREIGN, *foreign)
    return {**{k: v for k, v in os.environ.items() if not k.startswith(hidden)}, **own}


class Process:
    """One `holdfast up`, and what it said."""

    def __init__(
        self, system: str, arguments: Iterable[str], *, folder: Path, environment: dict[str, str]
    ) -> None:
        self._said = folder / f"{time.monotonic_ns()}.log"
        with self._said.open("w") as log:
            self._process = WarmProcess(
                [sys.executable, "-m", "holdfast", "up", "--systems", system, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._said.read_text()

    @property
    def address(self) -> str:
        """Where it listens, as soon as it says so."""

        def look() -> str | None:
            assert self._process.poll() is None, self.said
            found = _ADDRESS.search(self.said)
            return found[0] if found else None

        return eventually(look, "the address is told") or ""

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ended(self) -> int:
        """Return the exit code, once it has ended."""
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        """End it at once, wherever it is."""
        self._process.kill()
        self._process.wait()
