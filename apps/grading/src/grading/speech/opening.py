"""Opens what transcribes recordings."""

from __future__ import annotations

from grading.speech.config import SttConfig
from grading.speech.recogniser import Recogniser
from grading.speech.records import Transcriber


def open_transcriber(config: SttConfig) -> Transcriber:
    """Return what transcribes: the API that is set, or the packaged recogniser."""
    if not config.base_url:
        return Recogniser()
    # The SDK takes long to import, and the recogniser does without.
    from grading.speech.openai import OpenAiTranscriber  # noqa: PLC0415

    return OpenAiTranscriber(config)
