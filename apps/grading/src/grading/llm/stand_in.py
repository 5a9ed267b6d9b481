"""What stands in for a language model on a developer's machine: the rules behind OpenAI's API.

A repeat under the same idempotency key gets the same answer and is not charged again. `GET /ledger`
says how often it was called and what it charged for.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from grading.llm.prompt import task_in
from grading.rules import evidence_by_rules
from holdfast.systems import Answer, Call

MAX_KEYS: Final = 20_000
"""How many answers are kept for repeats; the oldest is forgotten."""
USD_PER_CALL: Final = 0.001
_COMPLETIONS: Final = "/chat/completions"
_LEDGER: Final = "/ledger"
_CHARACTERS_PER_TOKEN: Final = 4


class LlmStandIn:
    """A stand-in with a ledger of its own; any number of threads may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._calls = self._charges = self._repeats = self._refused = 0
        self._by_key: OrderedDict[str, int] = OrderedDict()

    def __call__(self, call: Call) -> Answer:
        """Answer a call as OpenAI's API does."""
        path = call.path.partition("?")[0].rstrip("/")
        if call.method == "GET" and path.endswith(_LEDGER):
            return _json(self.ledger())
        if call.method == "POST" and path.endswith(_COMPLETIONS):
            return self._completion(call)
        return _error(404, "not_found_error", "There is no such route here.")

    @property
    def faults(self) -> Mapping[str, Callable[[Call], Answer]]:
        """What it may do instead, by name: each counts calls, and charges for what it answers."""
        return {
            "malformed": lambda call: self._completion(call, made=_malformed),
            "refuses": lambda call: self._completion(call, made=_refusing),
            "out_of_quota": self._out_of_quota,
        }

    def ledger(self) -> dict[str, Any]:
        """Return what was asked for and charged so far."""
        with self._lock:
            return {
                "calls": self._calls,
                "charges": self._charges,
                "repeats": self._repeats,
                "refused": self._refused,
                "usd": round(self._charges * USD_PER_CALL, 6),
                "callsByKey": dict(self._by_key),
            }

    def _out_of_quota(self, call: Call) -> Answer:
        with self._lock:
            self._calls += call.method == "POST"
            self._refused += call.method == "POST"
        return _error(429, "insufficient_quota", "The quota of this stand-in is spent.")

    def _completion(
        self, call: Call, *, made: Callable[[bytes], bytes | None] | None = None
    ) -> Answer:
        key = call.headers.get("idempotency-key", "")
        with self._lock:
            self._calls += 1
            if key:
                self._by_key[key] = self._by_key.get(key, 0) + 1
                self._forget(self._by_key)
            known = self._answers.get(key)
            if known is not None:
                self._repeats += 1
                return Answer(body=known)
        body = (made or _completed)(call.body)
        with self._lock:
            if body is None:
                self._refused += 1
                return _error(400, "invalid_request_error", "This is no prompt of grading.")
            # Of two repeats at the same time one is charged.
            if key:
                kept = self._answers.setdefault(key, body)
                self._charges += kept is body
                self._forget(self._answers)
                return Answer(body=kept)
            self._charges += 1
            return Answer(body=body)

    @staticmethod
    def _forget(kept: OrderedDict[str, Any]) -> None:
        while len(kept) > MAX_KEYS:
            kept.popitem(last=False)


_STAND_IN: Final = LlmStandIn()


def answer(call: Call) -> Answer:
    """Answer with the stand-in of this process."""
    return _STAND_IN(call)


def _completed(body: bytes) -> bytes | None:
    """Return a chat completion, or None for a request that holds no task."""
    try:
        document = json.loads(body)
        user = next(
            each["content"] for each in reversed(document["messages"]) if each["role"] == "user"
        )
        task = task_in(user)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        return None
    if task is None:
        return None
    return _chat(body, text=json.dumps(evidence_by_rules(task).model_dump()))


def _malformed(body: bytes) -> bytes:
    return _chat(body, text="Certainly! The text is quite good, about a seven I would say.")


def _refusing(body: bytes) -> bytes:
    return _chat(body, text="", refusal="I will not assess this text.")


def _chat(body: bytes, *, text: str, refusal: str | None = None) -> bytes:
    tokens_in, tokens_out = len(body) // _CHARACTERS_PER_TOKEN, len(text) // _CHARACTERS_PER_TOKEN
    completion = {
        "id": f"chatcmpl-{hashlib.sha256(body).hexdigest()[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": "stand-in",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": refusal},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }
    return json.dumps(completion).encode()


def _json(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode())


def _error(status: int, code: str, message: str) -> Answer:
    return _json({"error": {"message": message, "type": code, "code": code}}, status)
