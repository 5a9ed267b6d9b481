"""Transcription by any API that speaks as OpenAI's does."""

from __future__ import annotations

import json
import tempfile
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import openai

from grading.audio.network.wire import Deadline, client_for
from grading.calls import RawAnswer
from grading.speech.config import SttConfig
from grading.speech.upload import small_file

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
_IDEMPOTENCY_KEY: Final = "Idempotency-Key"
_SENT: Final = frozenset(
    {
        *("host", "accept", "accept-encoding", "connection", "content-length", "content-type"),
        *("transfer-encoding", "user-agent", "authorization", "idempotency-key"),
        *("traceparent", "tracestate"),
    }
)
"""Everything else the SDK would send is about this machine, or comes from its environment."""
_MAX_WORD_LENGTH: Final = 60


class OpenAiTranscriber:
    """A model at one endpoint. Every call has a connection of its own, and is never repeated."""

    def __init__(self, config: SttConfig) -> None:
        self._config = config
        # Times of words come with the models that are called so, wherever they are served.
        self._format = "verbose_json" if "whisper" in config.model.lower() else "json"

    @property
    def name(self) -> str:
        """What it is called in results."""
        return f"openai:{self._config.model}"

    def transcribe(
        self, path: Path, *, token: str, timeout_s: float, headers: Mapping[str, str]
    ) -> RawAnswer:
        """Return the answer to one call; what is raised is of the SDK, without words of the API."""
        deadline = Deadline(timeout_s)
        with tempfile.TemporaryDirectory(prefix="grading-speech-") as name:
            sent = small_file(path, Path(name), timeout_s=timeout_s)
            with sent.path.open("rb") as file:
                body = self._call(
                    (sent.path.name, file, sent.media_type),
                    deadline=deadline,
                    headers={**headers, _IDEMPOTENCY_KEY: token},
                )
        return RawAnswer(body, self.name, self._usage(body, _seconds_of(path)))

    def _call(
        self, file: tuple[str, Any, str], *, deadline: Deadline, headers: Mapping[str, str]
    ) -> str:
        sent = _SENT | {name.lower() for name in headers}
        if self._config.api_key is None:
            sent -= {"authorization"}
        left_s = deadline.left_s(TimeoutError)
        with (
            client_for(deadline, max_bytes=MAX_ANSWER_BYTES, only_headers=sent) as http_client,
            openai.OpenAI(
                # The SDK does not do without; an endpoint of one's own may.
                api_key=self._config.api_key or "none",
                base_url=self._config.base_url,
                default_headers={"Authorization": f"Bearer {self._config.api_key}"},
                http_client=http_client,
                max_retries=0,
                timeout=left_s,
            ) as client,
        ):
            try:
                answer = client.audio.transcriptions.with_raw_response.create(
                    model=self._config.model,
                    file=file,
                    response_format=self._format,
                    extra_headers=dict(headers),
                )
            except openai.APIStatusError as error:
                _remove_words(error)
                raise
            return str(answer.http_response.text)

    def _usage(self, body: str, seconds: float) -> dict[str, Any]:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        usage = document.get("usage") if isinstance(document, dict) else None
        return {
            "inputTokens": _count(usage, "input_tokens"),
            "outputTokens": _count(usage, "output_tokens"),
            "usd": self._config.usd_of(seconds),
        }


def _count(usage: object, name: str) -> int:
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if type(found) is int and found > 0 else 0


def _seconds_of(path: Path) -> float:
    with wave.open(str(path), "rb") as file:
        return file.getnframes() / file.getframerate()


def _remove_words(error: Any) -> None:  # noqa: ANN401 - of the SDK, which is not checked
    """Remove what the API said from a status error: it may repeat a key, or what was said.

    Status, headers, and the code and type that classify the error stay.
    """
    message = f"the speech API answered {error.status_code}"
    error.args, error.message = (message,), message
    body = error.body
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    error.body = (
        {"error": {name: _word(inner.get(name)) for name in ("code", "type")}}
        if isinstance(inner, Mapping)
        else None
    )


def _word(value: object) -> str | None:
    """Return a value if it is a word such as APIs classify by, None otherwise."""
    if not isinstance(value, str) or len(value) > _MAX_WORD_LENGTH:
        return None
    return value if value.isascii() and value.replace("_", "a").isalnum() else None
