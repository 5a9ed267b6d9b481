"""Anthropic's models. A critique is asked for as the input of a tool that the model has to use."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from json import JSONDecodeError
from typing import Final

import anthropic

from criticizer.critique import Critique
from criticizer.reviewers.answers import SCHEMA, critique_in, critique_of
from criticizer.reviewers.errors import MalformedAnswer, Refused
from criticizer.reviewers.model import Answered, Prices
from criticizer.reviewers.prompt import Prompt
from criticizer.reviewers.sdk import MAX_BODY_BYTES, tokens, without_words
from criticizer.wire import Deadline, client_for
from holdfast.classify import refusal_of

DEFAULT_URL: Final = "https://api.anthropic.com"
DEFAULT_MAX_OUTPUT_TOKENS: Final = 8_192
_TOOL: Final = "report_review"
_INPUT_COUNTS: Final = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


class AnthropicModel:
    """A model at Anthropic's API, or at one that speaks as it does."""

    def __init__(
        self,
        name: str,
        *,
        url: str = DEFAULT_URL,
        key: str | None,
        prices: Prices,
        max_output_tokens: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._name, self._url, self._key, self._tls = name, url, key, tls
        self._prices = prices
        self._max_output_tokens = max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS

    @property
    def name(self) -> str:
        """What the model is called."""
        return self._name

    def ask(self, prompt: Prompt, *, deadline: Deadline, headers: Mapping[str, str]) -> Answered:
        """Ask once; see `Model`."""
        with (
            client_for(deadline, max_bytes=MAX_BODY_BYTES, tls=self._tls) as http_client,
            anthropic.Anthropic(
                # An endpoint of one's own may want none, and the SDK does not do without.
                api_key=self._key or "none",
                base_url=self._url,
                http_client=http_client,
                max_retries=0,
                timeout=deadline.left_s(),
            ) as client,
        ):
            try:
                answer = client.messages.create(
                    model=self._name,
                    max_tokens=self._max_output_tokens,
                    system=prompt.system,
                    messages=[{"role": "user", "content": prompt.user}],
                    tools=[
                        {
                            "name": _TOOL,
                            "description": "Takes the finished review.",
                            "input_schema": SCHEMA,
                        }
                    ],
                    tool_choice={"type": "tool", "name": _TOOL},
                    extra_headers=dict(headers),
                )
            except anthropic.APIStatusError as error:
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
                input_tokens=tokens(usage, *_INPUT_COUNTS),
                output_tokens=tokens(usage, "output_tokens"),
            ),
        )


def _critique_in(answer: object) -> Critique | MalformedAnswer:
    if getattr(answer, "stop_reason", None) == "max_tokens":
        return MalformedAnswer("the answer was cut off at the model's limit")
    content = getattr(answer, "content", None)
    blocks = content if isinstance(content, list) else []
    used = [block for block in blocks if getattr(block, "type", None) == "tool_use"]
    said = [block for block in blocks if getattr(block, "type", None) == "text"]
    try:
        if used:
            return critique_of(getattr(used[0], "input", None))
        text = getattr(said[0], "text", None) if said else None
        return critique_in(text if isinstance(text, str) else "")
    except MalformedAnswer as malformed:
        return malformed
