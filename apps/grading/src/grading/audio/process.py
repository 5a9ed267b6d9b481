"""Child processes with limits: what ffmpeg and the recogniser run in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple

from grading.audio import confined

_LOG_BYTES: Final = 64 * 1024
_CONFINED: Final = str(Path(confined.__file__).resolve())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """What a child process may take."""

    cpu_s: int
    memory_bytes: int
    file_bytes: int
    """The largest file that it may write."""


class Ended(NamedTuple):
    """How a child process ended."""

    exit_code: int
    """Negative for the number of the signal that ended it."""
    log: str
    """The beginning and the end of what it wrote on standard error."""


class ChildTimedOut(Exception):
    """A child process was killed because its time was up."""


def run_confined(
    command: Sequence[str], *, folder: Path, limits: ProcessLimits, wall_s: float
) -> Ended:
    """Run a program in a folder until it ends, or kill it and raise `ChildTimedOut`.

    It gets no input, nothing of this process's environment and, where the kernel allows it, no
    network. Everything it has started ends with it.
    """
    log = folder / "log"
    bounds = json.dumps(asdict(limits))
    with log.open("wb") as errors:
        child = subprocess.Popen(  # noqa: S603 - our own script and a program found by us
            [sys.executable, "-I", "-S", _CONFINED, bounds, *command],
            stdin=subprocess.DEVNULL,
            # Nothing is written there; its end shows that the child has ended.
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env={"HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"},
            start_new_session=True,
        )
    try:
        child.communicate(timeout=wall_s)
    except subprocess.TimeoutExpired:
        raise ChildTimedOut(f"it took longer than {wall_s:g} s") from None
    finally:
        _end(child)
    return Ended(child.returncode, _shown(log))


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def _shown(log: Path) -> str:
    with log.open("rb") as written:
        first = written.read(_LOG_BYTES)
        size = written.seek(0, os.SEEK_END)
        written.seek(max(size - _LOG_BYTES, len(first)))
        return (first + written.read(_LOG_BYTES)).decode("utf-8", "replace")
