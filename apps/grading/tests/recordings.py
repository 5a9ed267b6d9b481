"""Recordings for tests: speech that came with the recogniser, tones, and every way to encode."""

import subprocess
import wave
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from grading.audio import ffmpeg_program

RATE_HZ = 16_000
_PICTURE = "testsrc=size=32x32:rate=5:duration=2"
_ASSETS = Path(find_spec("moonshine_voice").submodule_search_locations[0]) / "assets"
SHORT_SPEECH = _ASSETS / "beckett.wav"
"""Ten seconds: six short sentences with pauses."""
LONG_SPEECH = _ASSETS / "two_cities.wav"
"""44 seconds of a novel's first sentence."""


def tone(seconds: float, *, hz: float = 440, level: float = 0.3) -> np.ndarray:
    """Samples of a tone, as a share of full scale."""
    at_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return (level * np.sin(2 * np.pi * hz * at_s)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE_HZ), np.float32)


def write_wav(path: Path, *parts: np.ndarray, channels: int = 1, rate_hz: int = RATE_HZ) -> Path:
    samples = (np.concatenate(parts) * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate_hz, 0, "NONE", ""))
        file.writeframes(np.repeat(samples, channels).tobytes())
    return path


def encode(source: Path, target: Path, *options: str) -> Path:
    """Encode a recording as the name of the target says."""
    _ffmpeg("-i", str(source), *options, str(target))
    return target


def encode_to_pipe(source: Path, target: Path, *options: str) -> Path:
    """Encode into a stream that cannot seek, as a browser's recorder does."""
    target.write_bytes(_ffmpeg("-i", str(source), *options, "pipe:1"))
    return target


def with_picture(sound: Path, target: Path, *options: str) -> Path:
    """Make a video with the sound of a recording."""
    picture = ("-f", "lavfi", "-i", _PICTURE)
    _ffmpeg(*picture, "-i", str(sound), *options, str(target))
    return target


def picture_only(target: Path, *options: str) -> Path:
    _ffmpeg("-f", "lavfi", "-i", _PICTURE, *options, str(target))
    return target


def cut(source: Path, target: Path, share: float) -> Path:
    """The first part of a file."""
    content = source.read_bytes()
    target.write_bytes(content[: int(len(content) * share)])
    return target


def _ffmpeg(*arguments: str) -> bytes:
    command = [str(ffmpeg_program()), "-nostdin", "-v", "error", "-y", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
