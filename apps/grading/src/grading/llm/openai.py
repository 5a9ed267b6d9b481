"""Evidence from any endpoint that speaks as OpenAI's does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import openai

from grading.audio.network.wire import Deadline, client_for
from grading.calls import RawAnswer
from grading.llm.answers import OPENAI
from grading.llm.config import LlmConfig, ResponseFormat
from grading.llm.prompt import prompt_for
from grading.llm.schema import NAME, evidence_schema
from grading.llm.task import AssessTask

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
_IDEMPOTENCY_KEY: Final = "idempotency-key"
_AUTHORIZATION: Final = "authorization"
_ALLOWED: Final = frozenset(
    {
        *("host", "accept", "accept-encoding", "connection", "content-length", "content-type"),
        *("transfer-encoding", "user-agent", _IDEMPOTENCY_KEY, _AUTHORIZATION),
    }
)
"""Every other header of the SDK is about this machine or comes from its environment."""
_MAX_WORD: Final = 60


class OpenAIAssessor:
    """A model at one endpoint. Each call has a connection of its own and is made once."""

    def __init__(self, config: LlmConfig) -> None:
        self._config = config
        self._options: dict[str, Any] = {"response_format": _format(config.response_format)}
        if config.max_output_tokens is not None:
            self._options["max_tokens"] = config.max_output_tokens

    @property
    def name(self) -> str:
        """`openai:` and the name of the model."""
        return f"{OPENAI}{self._config.model}"

    def assess(
        self, task: AssessTask, *, token: str, timeout_s: float, headers: Mapping[str, str]
    ) -> RawAnswer:
        """Return the body of the answer unread; see `Assessor`.

        Raises what the SDK raises, without any words of the API, which may repeat the text or the
        key. `timeout_s` is for all of the call.
        """
        config = self._config
        prompt = prompt_for(task, token=token, response_format=config.response_format)
        sent = {**headers, _IDEMPOTENCY_KEY: token}
        allowed = _ALLOWED | {name.lower() for name in sent}
        if config.api_key is None:
            allowed -= {_AUTHORIZATION}
        deadline = Deadline(timeout_s)
        with (
            client_for(deadline, max_bytes=MAX_ANSWER_BYTES, only_headers=allowed) as http_client,
            openai.OpenAI(
                # The SDK does not do without a key; an endpoint of one's own may.
                api_key=config.api_key or "none",
                base_url=config.base_url,
                # Named, because the environment may bring another one.
                default_headers={_AUTHORIZATION: f"Bearer {config.api_key}"},
                http_client=http_client,
                max_retries=0,
                timeout=timeout_s,
            ) as client,
        ):
            try:
                answer = client.chat.completions.with_raw_response.create(
                    model=config.model,
                    messages=[
                        {"role": "system", "content": prompt.system},
                        {"role": "user", "content": prompt.user},
                    ],
                    extra_headers=sent,
                    **self._options,
                )
            except openai.APIStatusError as error:
                _remove_words(error)
                raise
            body = bytes(answer.http_response.content).decode("utf-8", "replace")
        return RawAnswer(body, self.name, self._usage(body))

    def _usage(self, body: str) -> dict[str, Any]:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        usage = document.get("usage") if isinstance(document, dict) else None
        tokens_in, tokens_out = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        return {
            "inputTokens": tokens_in,
            "outputTokens": tokens_out,
            "usd": self._config.usd_of(input_tokens=tokens_in, output_tokens=tokens_out),
        }


def _format(wanted: ResponseFormat) -> dict[str, Any]:
    if wanted == "json_schema":
        schema = {"name": NAME, "strict": True, "schema": evidence_schema()}
        return {"type": wanted, "json_schema": schema}
    return {"type": wanted}


def _count(usage: object, name: str) -> int:
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if type(found) is int and found > 0 else 0


def _remove_words(error: Any) -> None:  # noqa: ANN401 - of the SDK, whose types are not read
    """Remove what the API said from an error; status, headers, code and type stay."""
    message = f"the model's API answered {error.status_code}"
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
    if not isinstance(value, str) or len(value) > _MAX_WORD:
        return None
    return value if value.isascii() and value.replace("_", "a").isalnum() else None
