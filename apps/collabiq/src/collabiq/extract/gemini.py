"""Extraction by Gemini, over Google's SDK: one call, in limited time, without its retries."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from google import genai
from google.genai import types

from collabiq.extract.answers import AnswerBlocked, AnswerInvalid, read_answer
from collabiq.extract.prompt import answer_schema, prompt_for
from collabiq.extract.record import Extraction, ExtractTask, Usage
from collabiq.tls import tls_context

NAME: Final = "gemini"
MODEL: Final = "gemini-2.5-flash"
TIMEOUT_S: Final = 60.0
MAX_OUTPUT_TOKENS: Final = 8_192
_BLOCKED: Final = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "OTHER"}
)
LOGGER: Final = logging.getLogger("collabiq.extract")


class GeminiExtractor:
    """A model of Gemini. Any number of threads may use it.

    What the API refuses is raised as the SDK has it (`google.genai.errors.APIError`, errors of
    httpx), which the engine classifies: `RetryInfo` and spent quotas are in there. An answer that
    is none raises `AnswerInvalid`.
    """

    def __init__(
        self,
        api_key: str,
        *,
        model: str = MODEL,
        base_url: str | None = None,
        timeout_s: float = TIMEOUT_S,
        usd_per_million: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._model, self._usd_per_million = model, usd_per_million
        tls = tls_context()
        # Kept as long as the extractor: a client that is let go closes the calls under way.
        self._client: Any = genai.Client(
            # Given, because the SDK would take another one out of the environment.
            api_key=api_key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=base_url,
                timeout=int(timeout_s * 1_000),
                retry_options=types.HttpRetryOptions(attempts=1),
                # The SDK would take the key and the mail wherever an answer sends it.
                client_args={"follow_redirects": False, "verify": tls},
                # Never used, and made all the same.
                async_client_args={"verify": tls, "ssl": tls},
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def extract(self, task: ExtractTask, *, repair: str | None = None) -> Extraction:
        """Return what the model finds in a mail; `repair` says what was wrong the last time."""
        prompt = prompt_for(task, repair=repair)
        answer = self._client.models.generate_content(
            model=self._model,
            contents=prompt.user,
            config=types.GenerateContentConfig(
                system_instruction=prompt.system,
                temperature=0.0,
                candidate_count=1,
                max_output_tokens=MAX_OUTPUT_TOKENS,
                response_mime_type="application/json",
                response_json_schema=answer_schema(),
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            ),
        )
        text = text_of(answer)
        return read_answer(text, task, extractor=NAME, model=self._model, usage=self._usage(answer))

    def _usage(self, answer: Any) -> Usage:  # noqa: ANN401 - of the SDK
        found = getattr(answer, "usage_metadata", None)
        tokens_in = _count(found, "prompt_token_count")
        tokens_out = _count(found, "candidates_token_count") + _count(found, "thoughts_token_count")
        usd_in, usd_out = self._usd_per_million
        return Usage(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            usd=round((tokens_in * usd_in + tokens_out * usd_out) / 1_000_000, 6),
        )


def text_of(answer: Any) -> str:  # noqa: ANN401 - of the SDK
    """Return the text of an answer; raises `AnswerInvalid` where it has none or not all of it."""
    feedback = getattr(answer, "prompt_feedback", None)
    if feedback is not None and getattr(feedback, "block_reason", None):
        raise AnswerBlocked(f"the mail was blocked: {_word(feedback.block_reason)}")
    candidates = getattr(answer, "candidates", None) or ()
    if not candidates:
        raise AnswerInvalid("there is no answer in it")
    reason = _word(getattr(candidates[0], "finish_reason", None))
    if reason in _BLOCKED:
        raise AnswerBlocked(f"the answer was blocked: {reason}")
    if reason == "MAX_TOKENS":
        raise AnswerInvalid("it was cut off because it is too long")
    content = getattr(candidates[0], "content", None)
    parts = getattr(content, "parts", None) or ()
    text = "".join(
        str(part.text)
        for part in parts
        if getattr(part, "text", None) and not getattr(part, "thought", None)
    )
    if not text.strip():
        raise AnswerInvalid("it is empty")
    return text


def extract_with_repair(
    extract: Callable[..., Extraction], task: ExtractTask, *, tries: int = 3
) -> Extraction:
    """Return the first usable answer of at most so many; each after the first is a repair."""
    repair: str | None = None
    for left in range(tries - 1, -1, -1):
        try:
            return extract(task, repair=repair)
        except AnswerInvalid as error:
            if left == 0:
                raise
            repair = error.why
            LOGGER.info("an answer could not be used: %s", error.why)
    raise AssertionError(tries)


def _word(reason: object) -> str:
    return str(getattr(reason, "value", reason) or "")


def _count(usage: object, name: str) -> int:
    found = getattr(usage, name, None)
    return found if isinstance(found, int) and found > 0 else 0
