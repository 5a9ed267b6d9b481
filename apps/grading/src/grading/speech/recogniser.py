"""The packaged recogniser, in a process of its own: what crashes there fails one attempt."""

from __future__ import annotations

import json
import math
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from grading.audio.process import ChildTimedOut, ProcessLimits, run_confined
from grading.audio.records import MEBIBYTE
from grading.calls import FREE, RawAnswer
from grading.speech.errors import RecogniserFailed

NAME: Final = "moonshine"
_CHILD: Final = str(Path(__file__).with_name("recogniser_child.py").resolve())
_MEMORY_BYTES: Final = 1024 * MEBIBYTE
"""Of addresses, of which it uses some 400 MiB."""
_RESULT_BYTES: Final = 16 * MEBIBYTE


class Recogniser:
    """Transcribes on this machine, with the model that its package brings. It costs nothing."""

    def __init__(self, *, memory_bytes: int = _MEMORY_BYTES, child: str = _CHILD) -> None:
        self._memory_bytes, self._child = memory_bytes, child

    @property
    def name(self) -> str:
        """What it is called in results."""
        return NAME

    def transcribe(
        self,
        path: Path,
        *,
        token: str,  # noqa: ARG002 - nobody is charged
        timeout_s: float,
        headers: Mapping[str, str],  # noqa: ARG002 - nobody is called
    ) -> RawAnswer:
        """Return the transcript of a decoded recording, or raise `RecogniserFailed`."""
        with tempfile.TemporaryDirectory(prefix="grading-speech-") as name:
            folder = Path(name)
            result = folder / "result.json"
            limits = ProcessLimits(
                cpu_s=math.ceil(timeout_s) + 1,
                memory_bytes=self._memory_bytes,
                file_bytes=_RESULT_BYTES,
            )
            command = [sys.executable, "-I", self._child, str(path.resolve()), str(result)]
            try:
                ended = run_confined(command, folder=folder, limits=limits, wall_s=timeout_s)
            except ChildTimedOut as error:
                raise RecogniserFailed(f"The recogniser was stopped: {error}.") from None
            if ended.exit_code != 0:
                raise RecogniserFailed(f"The recogniser {_how(ended.exit_code, ended.log)}.")
            return RawAnswer(_document_in(result), NAME, dict(FREE))


def _how(exit_code: int, log: str) -> str:
    if exit_code < 0:
        number = -exit_code
        known = {each.value: each.name for each in signal.Signals}
        return f"was ended by {known.get(number, f'signal {number}')}"
    # The log may hold what was said, so that only the name of the exception is taken from it.
    last = log.strip().splitlines()[-1:] or [""]
    name = last[0].partition(":")[0]
    return f"failed with {name}" if name.isidentifier() else f"ended with exit code {exit_code}"


def _document_in(result: Path) -> str:
    try:
        text = result.read_text(encoding="utf-8")
        json.loads(text)
    except (OSError, ValueError) as error:
        raise RecogniserFailed("The recogniser left no result.") from error
    return text
