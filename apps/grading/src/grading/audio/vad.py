"""Where there is speech in a decoded recording, by loudness."""

from __future__ import annotations

import wave
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from grading.audio.records import SAMPLE_RATE_HZ

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FRAME_S: Final = 0.02
PAUSE_S: Final = 0.5
"""A shorter silence is part of fluent speech."""
SILENT_DB: Final = -60.0
"""Below full scale: what is never louder holds nothing to transcribe."""
QUIET_DB: Final = -40.0
_FRAME: Final = int(SAMPLE_RATE_HZ * FRAME_S)
_ABOVE_NOISE_DB: Final = 9.0
_BELOW_PEAK_DB: Final = 40.0
_LEAST_BELOW_PEAK_DB: Final = 10.0
_JOINED_GAP_S: Final = 0.2
_SHORTEST_SPEECH_S: Final = 0.06
_SILENT_BELOW_S: Final = 0.1
_CLIPPED_SAMPLE: Final = 32_700
_CLIPPED_SHARE: Final = 0.001


class Span(NamedTuple):
    """A stretch of a recording."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end_s - self.start_s


def read_samples(path: Path) -> NDArray[np.int16]:
    """Return the samples of a decoded recording."""
    import numpy as np  # noqa: PLC0415 - it takes long to import

    with wave.open(str(path), "rb") as file:
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")


def loudness(samples: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return how loud each frame is, in decibels below full scale."""
    import numpy as np  # noqa: PLC0415 - as above

    whole = len(samples) // _FRAME * _FRAME
    frames = samples[:whole].reshape(-1, _FRAME).astype(np.float32)
    power = np.mean(np.square(frames / 32_768.0), axis=1, dtype=np.float64)
    levels_db: NDArray[np.float64] = 10 * np.log10(np.maximum(power, 1e-12))
    return levels_db


def speech_spans(samples: NDArray[np.int16]) -> list[Span]:
    """Return where there is speech, in order.

    The threshold follows the recording: above its noise, and not far below its loudest parts.
    """
    import numpy as np  # noqa: PLC0415 - as above

    levels_db = loudness(samples)
    if len(levels_db) == 0:
        return []
    noise_db, peak_db = np.percentile(levels_db, [10, 95])
    threshold_db = max(noise_db + _ABOVE_NOISE_DB, peak_db - _BELOW_PEAK_DB)
    threshold_db = max(min(threshold_db, peak_db - _LEAST_BELOW_PEAK_DB), SILENT_DB)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], levels_db > threshold_db, [0]))))
    runs = [
        Span(start * FRAME_S, end * FRAME_S)
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]
    return [span for span in _joined(runs) if span.seconds >= _SHORTEST_SPEECH_S]


def _joined(runs: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for run in runs:
        if joined and run.start_s - joined[-1].end_s < _JOINED_GAP_S:
            joined[-1] = Span(joined[-1].start_s, run.end_s)
        else:
            joined.append(run)
    return joined


def pauses_between(spans: list[Span]) -> list[Span]:
    """Return the silences between stretches of speech that are long enough to count."""
    between = (Span(one.end_s, next_one.start_s) for one, next_one in pairwise(spans))
    return [pause for pause in between if pause.seconds >= PAUSE_S]


def level_flags(samples: NDArray[np.int16]) -> list[str]:
    """Return what the level of a recording says: `silent`, `quiet` or `clipped`."""
    import numpy as np  # noqa: PLC0415 - as above

    levels_db = loudness(samples)
    if np.count_nonzero(levels_db > SILENT_DB) * FRAME_S < _SILENT_BELOW_S:
        return ["silent"]
    if np.percentile(levels_db, 95) < QUIET_DB:
        return ["quiet"]
    # Of the lowest sample there is no absolute value.
    loud = np.count_nonzero((samples >= _CLIPPED_SAMPLE) | (samples <= -_CLIPPED_SAMPLE))
    return ["clipped"] if loud > _CLIPPED_SHARE * len(samples) else []
