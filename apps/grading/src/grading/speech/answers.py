"""Reads transcripts in the answers of speech-to-text APIs: `json` and `verbose_json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from grading.calls import RawAnswer
from grading.speech.errors import MalformedTranscript
from grading.speech.records import Segment, Transcript

MAX_TEXT_CHARACTERS: Final = 200_000


def transcript_in(raw: RawAnswer) -> Transcript:
    """Return the transcript in an answer; `MalformedTranscript` where there is none."""
    try:
        document = json.loads(raw.body)
    except (ValueError, RecursionError):
        raise MalformedTranscript("The answer is not JSON.") from None
    if not isinstance(document, dict) or not isinstance(document.get("text"), str):
        raise MalformedTranscript("The answer has no text.")
    text = document["text"].strip()
    if len(text) > MAX_TEXT_CHARACTERS:
        raise MalformedTranscript(f"The answer has more than {MAX_TEXT_CHARACTERS} characters.")
    listed = document.get("segments")
    entries = listed if isinstance(listed, list) else []
    segments = [segment for segment in map(_segment, entries) if segment is not None]
    return Transcript(text, segments, raw.provider)


def _segment(entry: object) -> Segment | None:
    """Return a segment, None for what has no usable times: times are optional."""
    if not isinstance(entry, Mapping):
        return None
    start_s, end_s = _number(entry.get("start")), _number(entry.get("end"))
    text = entry.get("text")
    if start_s is None or end_s is None or not isinstance(text, str) or not 0 <= start_s <= end_s:
        return None
    return Segment(start_s, end_s, text.strip(), _confidence(entry))


def _confidence(entry: Mapping[str, Any]) -> float | None:
    given = _number(entry.get("confidence"))
    if given is not None:
        return min(max(given, 0.0), 1.0)
    # Whisper gives the mean logarithm of the probabilities of its tokens.
    logarithm = _number(entry.get("avg_logprob"))
    return None if logarithm is None else math.exp(min(logarithm, 0.0))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
