"""Models behind any endpoint that speaks as OpenAI's does."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, Final

import openai

from criticizer.critique import Critique
from criticizer.reviewers.answers import SCHEMA, ResponseFormat, critique_in
from criticizer.reviewers.errors import MalformedAnswer, Refused
from criticizer.reviewers.model import Answered, Prices
from criticizer.reviewers.prompt import Prompt
from criticizer.reviewers.sdk import MAX_BODY_BYTES, tokens, without_words
from criticizer.wire import Deadline, client_for
from holdfast.classify import refusal_of

DEFAULT_URL: Final = "https://api.openai.com/v1"
_FORMATS: Final[Mapping[ResponseFormat, Any]] = {
    "json_schema": {
        "type": "json_schema",
        "json_schema": {"name": "critique", "strict": True, "schema": SCHEMA},
    },
    "json_object": {"type": "json_object"},
    "text": {"type": "text"},
}


class OpenAIModel:
    """A model at one endpoint. `response_format` is the strictest one that the endpoint takes."""

    def __init__(
        self,
        name: str,
        *,
        url: str = DEFAULT_URL,
        key: str | None,
        prices: Prices,
        response_format: ResponseFormat = "json_schema",
        max_output_tokens: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._name, self._url, self._key, self._tls = name, url, key, tls
        self._prices = prices
        self._options: dict[str, Any] = {"response_format": _FORMATS[response_format]}
        if max_output_tokens is not None:
            self._options["max_tokens"] = max_output_tokens

    @property
    def name(self) -> str:
        """What the model is called."""
        return self._name

    def ask(self, prompt: Prompt, *, deadline: Deadline, headers: Mapping[str, str]) -> Answered:
        """Ask once; see `Model`."""
        with (
            client_for(deadline, max_bytes=MAX_BODY_BYTES, tls=self._tls) as http_client,
            openai.OpenAI(
                # An endpoint of one's own may want none, and the SDK does not do without.
                api_key=self._key or "none",
                base_url=self._url,
                http_client=http_client,
                max_retries=0,
                timeout=deadline.left_s(),
            ) as client,
        ):
            try:
                answer = client.chat.completions.create(
                    model=self._name,
                    messages=[
                        {"role": "system", "content": prompt.system},
                        {"role": "user", "content": prompt.user},
                    ],
                    extra_headers=dict(headers),
                    **self._options,
                )
            except openai.APIStatusError as error:
                without_words(error, whose="the model's API")
                raise
            except (JSONDecodeError, UnicodeDecodeError, RecursionError):
                answer = None
        if refusal_of(answer) is not None:
            raise Refused("the model would not review this change")
        usage = getattr(answer, "usage", None)
        return Answered(
            _critique_in(answer),
            self._prices.of(
                input_tokens=tokens(usage, "prompt_tokens"),
                output_tokens=tokens(usage, "completion_tokens"),
            ),
        )


def _critique_in(answer: object) -> Critique | MalformedAnswer:
    choices = getattr(answer, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    text = getattr(getattr(first, "message", None), "content", None)
    if not isinstance(text, str):
        return MalformedAnswer("the answer has no text")
    if getattr(first, "finish_reason", None) == "length":
        return MalformedAnswer("the answer was cut off at the model's limit")
    try:
        return critique_in(text)
    except MalformedAnswer as malformed:
        return malformed
