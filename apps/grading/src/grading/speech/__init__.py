"""Speech to text: the packaged recogniser, or any API that speaks as OpenAI's does."""

from grading.speech.errors import MalformedTranscript, RecogniserFailed
from grading.speech.records import Segment, SpeechFacts, Transcriber, Transcript

__all__ = [
    "MalformedTranscript",
    "RecogniserFailed",
    "Segment",
    "SpeechFacts",
    "Transcriber",
    "Transcript",
]
