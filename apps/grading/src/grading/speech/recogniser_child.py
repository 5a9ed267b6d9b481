"""The recogniser's process: `python -I recogniser_child.py RECORDING RESULT`.

It reads a mono WAV file of 16 kHz and writes a JSON document of the form of `verbose_json`. It is
run by its path and imports nothing of this package, so that it starts quickly.
"""

from __future__ import annotations

import json
import os
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

RATE_HZ = 16_000
WINDOW_S = 30
"""How much is transcribed at a time, which limits the memory that long recordings take."""
_SEARCH_S = 10
_STEP = RATE_HZ // 10


def main(recording: str, result: str) -> None:
    """Transcribe a recording and write the result."""
    from moonshine_voice.moonshine_api import ModelArch  # noqa: PLC0415 - tests read `windows`
    from moonshine_voice.transcriber import Transcriber  # noqa: PLC0415 - as above
    from moonshine_voice.utils import get_model_path  # noqa: PLC0415 - as above

    # More threads wait for one another longer than they compute: two take twice the time of one.
    os.environ["MOONSHINE_ORT_SINGLE_THREAD"] = "1"
    with wave.open(recording, "rb") as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    options = {"return_audio_data": "false"}
    segments: list[dict[str, Any]] = []
    with Transcriber(get_model_path("tiny-en"), ModelArch.TINY, options=options) as transcriber:
        for start, end in windows(pcm):
            samples = (pcm[start:end].astype(np.float32) / 32_768).tolist()
            found = transcriber.transcribe_without_streaming(samples, RATE_HZ)
            segments += [_segment(line, start / RATE_HZ) for line in found.lines]
    spoken = [segment for segment in segments if segment["text"]]
    document = {
        "text": " ".join(segment["text"] for segment in spoken),
        "duration": round(len(pcm) / RATE_HZ, 3),
        "segments": spoken,
    }
    Path(result).write_text(json.dumps(document), encoding="utf-8")


def windows(pcm: np.ndarray[Any, np.dtype[np.int16]]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts that are short enough, each cut where it is quietest."""
    start = 0
    while len(pcm) - start > WINDOW_S * RATE_HZ:
        search = start + (WINDOW_S - _SEARCH_S) * RATE_HZ
        steps = pcm[search : start + WINDOW_S * RATE_HZ].astype(np.float32).reshape(-1, _STEP)
        quietest = int(np.argmin(np.mean(np.square(steps), axis=1)))
        end = search + quietest * _STEP + _STEP // 2
        yield start, end
        start = end
    yield start, len(pcm)


def _segment(line: Any, offset_s: float) -> dict[str, Any]:  # noqa: ANN401 - a class without types
    start_s = offset_s + line.start_time
    return {
        "start": round(start_s, 3),
        "end": round(start_s + line.duration, 3),
        "text": line.text.strip(),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
