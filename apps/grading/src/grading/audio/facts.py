"""How a learner spoke: measured on the recording, and counted in the transcript."""

from __future__ import annotations

from grading.audio.records import Decoded
from grading.audio.vad import pauses_between, read_samples, speech_spans
from grading.speech.records import SpeechFacts, Transcript


def speech_facts(decoded: Decoded, transcript: Transcript) -> SpeechFacts:
    """Return how the learner spoke in a recording.

    Pauses are silences of half a second and more between words. The rate counts words from the
    first sound to the last, so that silence around the speech changes nothing.
    """
    spans = speech_spans(read_samples(decoded.path))
    pauses = pauses_between(spans)
    spoken_s = spans[-1].end_s - spans[0].start_s if spans else 0.0
    words = len(transcript.text.split())
    return SpeechFacts(
        seconds=decoded.seconds,
        speech_seconds=round(sum(span.seconds for span in spans), 2),
        pauses=len(pauses),
        longest_pause_s=round(max((pause.seconds for pause in pauses), default=0.0), 2),
        words_per_minute=round(words * 60 / spoken_s, 1) if spoken_s > 0 else 0.0,
    )
