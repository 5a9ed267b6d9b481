"""Speech to text: the packaged recogniser, or any API that speaks as OpenAI's does."""

from grading.speech.config import SttConfig
from grading.speech.errors import MalformedTranscript, RecogniserFailed
from grading.speech.opening import open_transcriber
from grading.speech.records import Segment, SpeechFacts, Transcriber, Transcript
from grading.speech.rules import STT_RULES

__all__ = [
    "STT_RULES",
    "MalformedTranscript",
    "RecogniserFailed",
    "Segment",
    "SpeechFacts",
    "SttConfig",
    "Transcriber",
    "Transcript",
    "open_transcriber",
]
