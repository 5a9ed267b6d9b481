"""A server of language models that speaks as OpenAI's and as Anthropic's do.

What it answers is scripted call by call; whichever dialect it is asked in, it answers in that one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.deployed.scripted_server import Call, Reply, ScriptedServer, json_reply

INPUT_TOKENS: Final = 1_000
OUTPUT_TOKENS: Final = 200
_FINISH: Final = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def critique(*findings: Mapping[str, Any], summary: str = "Fine, but for a loop.") -> str:
    """The text of a good answer."""
    return json.dumps({"summary": summary, "findings": list(findings)})


def finding(file: str = "rope.py", line: int | None = 2, **said: Any) -> dict[str, Any]:
    usual = {"severity": "warning", "message": "A loop of nothing.", "suggestion": None}
    return {"file": file, "line": line, **usual, **said}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says in one call.

    `finish` is in OpenAI's words: "stop", "length" or "content_filter". `refusal` fills the field
    of that name. A `status` other than 200 is an error in the dialect's form, with `code` and
    `error_message` in it. `raw` is sent in place of all that.
    """

    text: str | None = field(default_factory=critique)
    finish: str = "stop"
    refusal: str | None = None
    status: int = 200
    code: str = "server_error"
    error_message: str = "something went wrong"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    input_tokens: int = INPUT_TOKENS
    output_tokens: int = OUTPUT_TOKENS
    usage: bool = True
    raw: Reply | None = None


class LlmServer(ScriptedServer):
    """Says what the script says, then `usual`, or what `decide` makes of a call."""

    def __init__(self, *script: Answer, usual: Answer | None = None, **options: Any) -> None:
        super().__init__(answer=self._say, **options)
        self._answers = list(script)
        self._answers_lock = threading.Lock()
        self.usual = usual or Answer()
        self.decide: Callable[[Call], Answer] | None = None

    @property
    def base_url(self) -> str:
        """What OpenAI's SDK is given; Anthropic's takes `url`."""
        return f"{self.url}/v1"

    @property
    def prompts(self) -> list[str]:
        """Everything that was told to the model, call by call."""
        return [prompt_of(call) for call in self.calls]

    def say(self, *script: Answer) -> None:
        """Go on with these answers once those before them have been given."""
        with self._answers_lock:
            self._answers.extend(script)

    def _say(self, call: Call) -> Reply:
        if call.path not in {"/v1/chat/completions", "/v1/messages"}:
            return Reply(status=404)
        with self._answers_lock:
            answer = self._answers.pop(0) if self._answers else None
        if answer is None:
            answer = self.decide(call) if self.decide else self.usual
        if answer.raw is not None:
            return answer.raw
        made = _anthropic if call.path == "/v1/messages" else _openai
        return replace(made(call, answer), delay_s=answer.delay_s)


def prompt_of(call: Call) -> str:
    """All the text of a question."""
    document = call.document
    told = [document.get("system", ""), *(each["content"] for each in document["messages"])]
    return "\n".join(told)


def _openai(call: Call, answer: Answer) -> Reply:
    if answer.status != 200:
        error = {"message": answer.error_message, "type": answer.code, "code": answer.code}
        return json_reply({"error": error}, status=answer.status, headers=dict(answer.headers))
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": call.document["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
    }
    if answer.usage:
        document["usage"] = {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
        }
    return json_reply(document, headers=dict(answer.headers))


def _anthropic(call: Call, answer: Answer) -> Reply:
    if answer.status != 200:
        error = {"type": answer.code, "message": answer.error_message}
        document: dict[str, Any] = {"type": "error", "error": error}
        return json_reply(document, status=answer.status, headers=dict(answer.headers))
    finish = "refusal" if answer.refusal else _FINISH[answer.finish]
    document = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": call.document["model"],
        "content": _blocks(call, answer),
        "stop_reason": "tool_use" if finish == "end_turn" else finish,
        "stop_sequence": None,
    }
    if answer.usage:
        document["usage"] = {
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
        }
    return json_reply(document, headers=dict(answer.headers))


def _blocks(call: Call, answer: Answer) -> Sequence[Mapping[str, Any]]:
    """A use of the tool that was offered, when the text is JSON; otherwise the text."""
    if answer.text is None:
        return []
    try:
        given = json.loads(answer.text)
    except ValueError:
        return [{"type": "text", "text": answer.text}]
    tool = call.document["tools"][0]["name"]
    return [{"type": "tool_use", "id": "toolu_1", "name": tool, "input": given}]
