"""A server that speaks as OpenAI's does, with answers that are scripted call by call."""

import json
from collections.abc import Mapping
from typing import Any

from grading.llm.schema import evidence_schema
from tests.deployed.scripted_server import Call, Reply, ScriptedServer, json_reply

EVIDENCE: Mapping[str, Any] = {
    "requirements": [],
    "positionClear": True,
    "onTopic": True,
    "irrelevant": [],
    "levels": [{"criterion": "grammar", "level": 3, "quote": "Tourism", "reason": "so so"}],
    "errors": [],
    "strengths": ["short"],
    "weaknesses": [],
    "suggestions": [],
}
assert set(EVIDENCE) == set(evidence_schema()["required"])


def completion(text: str | None = None, *, finish="stop", refusal=None, usage=(1_000, 200)) -> dict:
    """A chat completion; without a text one with evidence in it."""
    content = json.dumps(EVIDENCE) if text is None else text
    made = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
                "finish_reason": finish,
            }
        ],
    }
    if usage is not None:
        made["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return made


def error_reply(status: int, code: str, message: str = "wrong", **headers: str) -> Reply:
    document = {"error": {"message": message, "type": code, "code": code}}
    return json_reply(document, status=status, headers=headers)


class GradingLlm(ScriptedServer):
    """Gives the replies of `then`, and after them a completion with evidence."""

    def __init__(self) -> None:
        super().__init__(answer=self._usual)

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def _usual(self, call: Call) -> Reply:
        if call.path != "/v1/chat/completions":
            return Reply(status=404)
        return json_reply(completion())


def system_of(call: Call) -> str:
    return call.document["messages"][0]["content"]


def user_of(call: Call) -> str:
    return call.document["messages"][1]["content"]
