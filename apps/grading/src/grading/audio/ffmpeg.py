"""ffmpeg in a confined child process: the system's, or the one that came as a package."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from grading.audio.errors import AudioDecodeError, DecodeProblem, DecoderFailed
from grading.audio.process import ChildTimedOut, ProcessLimits, run_confined
from grading.audio.records import MEBIBYTE

LOG_BYTES: Final = 8 * MEBIBYTE
_OUT_OF_MEMORY: Final = ("Cannot allocate memory", "Resource temporarily unavailable")
_TOO_LARGE: Final = "File too large"
_BOUND: Final = frozenset({-signal.SIGXCPU, -signal.SIGXFSZ})


@cache
def ffmpeg_program() -> Path:
    """Return where ffmpeg is; `DecoderFailed` where there is none."""
    found = shutil.which("ffmpeg") or _packaged()
    if found is None:
        raise DecoderFailed("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
    return Path(found).resolve()


def _packaged() -> str | None:
    # It looks for programs when it is imported, and most machines have their own.
    import imageio_ffmpeg  # noqa: PLC0415

    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        return None


def run_ffmpeg(
    arguments: Sequence[str], *, folder: Path, limits: ProcessLimits, wall_s: float
) -> tuple[bool, str]:
    """Run ffmpeg and return whether it succeeded, and what it logged.

    Raises `AudioDecodeError` where the recording takes more than the limits, and `DecoderFailed`
    where ffmpeg ended for another reason than the recording.
    """
    command = [
        str(ffmpeg_program()),
        *("-nostdin", "-hide_banner", "-nostats", "-v", "level+info", "-threads", "1"),
        *arguments,
    ]
    try:
        ended = run_confined(command, folder=folder, limits=limits, wall_s=wall_s)
    except ChildTimedOut as error:
        raise DecoderFailed(f"ffmpeg was stopped: {error}") from None
    is_costly = any(words in ended.log for words in (*_OUT_OF_MEMORY, _TOO_LARGE))
    if ended.exit_code in _BOUND or (ended.exit_code != 0 and is_costly):
        raise AudioDecodeError(
            DecodeProblem.TOO_COSTLY, "The recording takes too much time or memory to decode."
        )
    if ended.exit_code < 0:
        raise DecoderFailed(f"ffmpeg was ended by signal {-ended.exit_code}")
    return ended.exit_code == 0, ended.log
