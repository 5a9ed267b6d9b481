"""What the recording says about fluency and pronunciation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from grading.scoring.rounding import half_step
from grading.scoring.texts.listed import listed
from grading.speech import SpeechFacts, Transcript

MAX_ESTIMATE: Final = 8.0
"""An estimate of pronunciation is never better: a recogniser measures words, not sounds."""
_UNKNOWN_ESTIMATE: Final = 6.0
_FILLERS: Final = frozenset(listed("um uh er erm eh hmm mm ah"))
_MIN_SPEECH_S: Final = 0.3
_RATE: Final = ((0, 0.0), (30, 2.5), (60, 4.5), (90, 6.5), (120, 8.5), (150, 10.0), (190, 10.0))
"""Words in a minute and the score of fluency that they begin with."""
_FAST_RATE: Final = ((190, 10.0), (260, 7.0), (400, 5.0))
_CONFIDENCE: Final = ((0.0, 0.0), (0.4, 3.0), (0.6, 4.5), (0.75, 6.0), (0.9, 7.5), (1.0, 8.0))
_LONG_PAUSE_S: Final = 3.0
_VERY_LONG_PAUSE_S: Final = 6.0


def has_speech(speech: SpeechFacts, *, words: int) -> bool:
    """Return whether anybody speaks in a recording."""
    # A recogniser that hears words in silence makes them up.
    return words > 0 and not 0 <= speech.speech_seconds < _MIN_SPEECH_S


def fluency_score(speech: SpeechFacts, words: Sequence[str]) -> float:
    """Return the score of fluency from speed, pauses and fillers."""
    rate = max(speech.words_per_minute, 0.0)
    value = _between(_RATE if rate <= _FAST_RATE[0][0] else _FAST_RATE, rate)
    minutes = max(speech.seconds, 1.0) / 60
    value -= min(max(speech.pauses / minutes - 6, 0.0) * 0.15, 2.0)
    if speech.longest_pause_s >= _LONG_PAUSE_S:
        value -= 0.5 if speech.longest_pause_s < _VERY_LONG_PAUSE_S else 1.0
    fillers = sum(word in _FILLERS for word in words)
    value -= min(10.0 * fillers / max(len(words), 1), 1.0)
    return half_step(value)


def pronunciation_estimate(transcript: Transcript, others: Sequence[float]) -> float:
    """Return an estimate of pronunciation, from the recogniser's confidence where it has one.

    Without one it follows the other scores, and is never high: that a learner was understood is all
    that is known.
    """
    confidence = transcript.confidence
    if confidence is not None:
        return half_step(min(_between(_CONFIDENCE, min(max(confidence, 0.0), 1.0)), MAX_ESTIMATE))
    mean = sum(others) / len(others) if others else 0.0
    return half_step(min(mean, _UNKNOWN_ESTIMATE))


def _between(points: Sequence[tuple[float, float]], at: float) -> float:
    """Return the value at a place, on straight lines between points."""
    for (left, low), (right, high) in pairwise(points):
        if at <= right:
            return low + (high - low) * max(at - left, 0.0) / (right - left)
    return points[-1][1]
