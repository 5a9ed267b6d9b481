"""From any recording to a mono WAV file of 16 kHz, whatever it is called and however it ends."""

from __future__ import annotations

import re
import tempfile
import wave
from pathlib import Path
from typing import Final, NamedTuple

from grading.audio.endings import breaks_off
from grading.audio.errors import AudioDecodeError, DecodeProblem
from grading.audio.ffmpeg import LOG_BYTES, run_ffmpeg
from grading.audio.process import ProcessLimits
from grading.audio.records import SAMPLE_RATE_HZ, Decoded, DecodeLimits
from grading.audio.sniff import WAV, Container, container_of
from grading.audio.vad import level_flags, read_samples

_SAMPLE_BYTES: Final = 2
_PAST_LIMIT_S: Final = 1.0
"""A recording is decoded to a second past the limit, which tells that it is longer."""
_CODECS: Final = (
    "aac,aac_latm,ac3,adpcm_ima_qt,adpcm_ima_wav,adpcm_ms,alac,amrnb,amrwb,eac3,flac,gsm,gsm_ms,"
    "libopencore_amrnb,libopencore_amrwb,libopus,libvorbis,mp1,mp1float,mp2,mp2float,mp3,"
    "mp3float,opus,pcm_alaw,pcm_f32be,pcm_f32le,pcm_f64be,pcm_f64le,pcm_mulaw,pcm_s16be,"
    "pcm_s16le,pcm_s24be,pcm_s24le,pcm_s32be,pcm_s32le,pcm_s8,pcm_u8,speex,vorbis,wmalossless,"
    "wmapro,wmav1,wmav2"
)
"""What recordings are made with. Decoders of pictures are not opened at all."""
_TRUNCATED: Final = re.compile(r"File ended prematurely|partial file|Truncat", re.IGNORECASE)
_DAMAGED: Final = re.compile(
    r"\[(?:warning|error)\].*(?:corrupt|invalid data|error (?:while|submitting|decoding))",
    re.IGNORECASE,
)
_NO_STREAM: Final = "matches no streams"
_PICTURE: Final = re.compile(r"Stream #0:\d+[^\n]*: Video:(?![^\n]*attached pic)")
_NOT_AUDIO: Final = "The file is not an audio recording."


class Read(NamedTuple):
    """What ffmpeg made of a recording."""

    wav: Path
    seconds: float
    container: Container
    log: str

    @property
    def media_type(self) -> str:
        """The media type by content."""
        has_picture = _PICTURE.search(self.log) is not None
        return self.container.video_type if has_picture else self.container.audio_type


def decode(source: Path, target_dir: Path, *, limits: DecodeLimits) -> Decoded:
    """Return a recording as a WAV file in a folder, or raise `AudioDecodeError`.

    The first audio stream counts. A recording that breaks off is decoded as far as it goes and
    flagged. `DecoderFailed` is for what another attempt may do better.
    """
    target_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="decode-", dir=target_dir) as name:
        read = read_audio(source, Path(name), limits=limits)
        if read.seconds > limits.max_seconds:
            raise AudioDecodeError(
                DecodeProblem.TOO_LONG, f"The recording is longer than {limits.max_seconds:g} s."
            )
        if read.seconds < limits.min_seconds:
            raise AudioDecodeError(
                DecodeProblem.TOO_SHORT, f"The recording is shorter than {limits.min_seconds:g} s."
            )
        flags = [*_file_flags(source, read), *level_flags(read_samples(read.wav))]
        path = target_dir / f"{source.stem}.16k.wav"
        read.wav.replace(path)
    return Decoded(path, round(read.seconds, 3), flags)


def read_audio(source: Path, folder: Path, *, limits: DecodeLimits) -> Read:
    """Decode a recording into a folder, to a second past the limit.

    Raises `AudioDecodeError` where there is nothing to be heard from it at all.
    """
    container = container_of(source)
    if container is None:
        raise AudioDecodeError(DecodeProblem.NOT_AUDIO, _NOT_AUDIO)
    # The child process has another working folder.
    wav = folder.resolve() / "audio.wav"
    seconds = limits.max_seconds + _PAST_LIMIT_S
    is_well, log = run_ffmpeg(
        [
            # The format is given, so that nothing is taken for a playlist, which names other files.
            *("-protocol_whitelist", "file", "-f", container.demuxer),
            *("-codec_whitelist", _CODECS),
            *("-i", f"file:{source.resolve()}", "-map", "0:a:0", "-vn", "-sn", "-dn"),
            *("-map_metadata", "-1", "-t", f"{seconds:.3f}"),
            *("-ac", "1", "-ar", str(SAMPLE_RATE_HZ), "-c:a", "pcm_s16le"),
            *("-f", "wav", "-y", f"file:{wav}"),
        ],
        folder=folder,
        limits=ProcessLimits(
            cpu_s=limits.cpu_s,
            memory_bytes=limits.memory_bytes,
            file_bytes=int(seconds * SAMPLE_RATE_HZ * _SAMPLE_BYTES) + LOG_BYTES,
        ),
        wall_s=limits.wall_s,
    )
    samples = _samples_in(wav)
    if samples == 0:
        raise _error_of(log, is_well=is_well)
    return Read(wav, samples / SAMPLE_RATE_HZ, container, log)


def _samples_in(wav: Path) -> int:
    try:
        with wave.open(str(wav), "rb") as file:
            return file.getnframes()
    except (FileNotFoundError, EOFError, wave.Error):
        return 0


def _error_of(log: str, *, is_well: bool) -> AudioDecodeError:
    if _NO_STREAM in log:
        return AudioDecodeError(DecodeProblem.NO_AUDIO_STREAM, "The file has no audio stream.")
    if is_well:
        return AudioDecodeError(DecodeProblem.NO_SAMPLES, "The recording is empty.")
    return AudioDecodeError(DecodeProblem.UNREADABLE, "The recording is damaged beyond reading.")


def _file_flags(source: Path, read: Read) -> list[str]:
    if _TRUNCATED.search(read.log) is not None or breaks_off(source, read.container):
        return ["truncated"]
    # Of a WAV file every last packet that is not full counts as corrupt.
    is_damaged = read.container is not WAV and _DAMAGED.search(read.log) is not None
    return ["damaged"] if is_damaged else []
