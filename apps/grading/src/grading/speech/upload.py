"""A decoded recording in few bytes, for APIs that limit what is sent to them."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from grading.audio.errors import DecoderFailed
from grading.audio.ffmpeg import LOG_BYTES, run_ffmpeg
from grading.audio.process import ProcessLimits
from grading.audio.records import MEBIBYTE

MAX_UPLOAD_BYTES: Final = 20 * MEBIBYTE
"""Below the 25 MiB that the strictest API takes, with room for the rest of the form."""
_FLAC: Final = ("-c:a", "flac", "-f", "flac")
_OPUS: Final = ("-c:a", "libopus", "-b:a", "24k", "-f", "ogg")


class SmallFile(NamedTuple):
    """A recording to be sent."""

    path: Path
    media_type: str


def small_file(wav: Path, folder: Path, *, timeout_s: float) -> SmallFile:
    """Return a decoded recording as FLAC, or as Opus where that is too large still."""
    flac = SmallFile(folder / "speech.flac", "audio/flac")
    _encode(wav, flac.path, _FLAC, timeout_s)
    if flac.path.stat().st_size <= MAX_UPLOAD_BYTES:
        return flac
    opus = SmallFile(folder / "speech.ogg", "audio/ogg")
    _encode(wav, opus.path, _OPUS, timeout_s)
    return opus


def _encode(wav: Path, target: Path, options: tuple[str, ...], timeout_s: float) -> None:
    is_well, _ = run_ffmpeg(
        [
            *("-protocol_whitelist", "file", "-f", "wav", "-i", f"file:{wav.resolve()}"),
            *("-map_metadata", "-1", *options, "-y", f"file:{target.resolve()}"),
        ],
        folder=target.parent,
        limits=ProcessLimits(
            cpu_s=int(timeout_s) + 1,
            memory_bytes=1024 * MEBIBYTE,
            file_bytes=wav.stat().st_size + LOG_BYTES,
        ),
        wall_s=timeout_s,
    )
    if not is_well:
        raise DecoderFailed("ffmpeg could not encode the recording")
