"""A stand-in for Gemini: the rules behind its API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from collabiq.extract.prompt import task_in
from collabiq.extract.record import ExtractTask
from collabiq.extract.rules import extract_by_rules
from collabiq.stand_ins.wire import Answering, document_of, json_answer, losing, path_of
from holdfast.systems import Answer, Call

HUGE: Final = 5 * 1024 * 1024
_FIELDS: Final = (
    *("person_in_charge", "startup_name", "partner_org", "details", "date", "confidence"),
    *("collaboration_intensity", "summary", "matched_company_id", "matched_partner_id"),
)
_CHARACTERS_PER_TOKEN: Final = 4
_SURER: Final = 0.15
"""By how much a model is surer of the same than rules are."""
_SUREST: Final = 0.95
_MODES: Final = ("v1", "v1beta")


class ModelCall(NamedTuple):
    """A call of the ledger."""

    model: str
    subject: str
    """Of the mail."""
    tokens_in: int
    tokens_out: int


class GeminiStandIn:
    """Answers as Gemini's API does; any number of threads may call it."""

    def __init__(self) -> None:
        self.answered = 0
        self.calls: list[ModelCall] = []
        """Every call that was answered, in order: what would have to be paid for."""
        self._lock = threading.Lock()

    @property
    def faults(self) -> Mapping[str, Answering]:
        """What it does instead, by name."""
        return {
            "unauthorized": _always(400, "INVALID_ARGUMENT", "API_KEY_INVALID"),
            "forbidden": _always(403, "PERMISSION_DENIED", "API_KEY_SERVICE_BLOCKED"),
            "invalid": _always(400, "INVALID_ARGUMENT", "BAD_REQUEST"),
            "rate_limited": _rate_limited,
            "overloaded": _always(503, "UNAVAILABLE", "MODEL_OVERLOADED"),
            "out_of_quota": _out_of_quota,
            "blocked": self._with(_blocked, "Blocks every mail."),
            "unsafe": self._with(_ends("SAFETY"), "Blocks its own answers."),
            "cut_off": self._with(_ends("MAX_TOKENS"), "Ends answers in the middle."),
            "no_candidates": self._with(lambda _: {"candidates": []}, "Answers nothing."),
            "no_json": self._with(lambda _: _candidate("I would rather not."), "Answers no JSON."),
            "half_json": self._with(_half, "Answers half of the JSON."),
            "fenced": self._with(_fenced, "Puts the JSON into a Markdown fence."),
            "names_for_ids": self._with(_names, "Answers names instead of ids."),
            "strange_ids": self._with(_strange_ids, "Answers ids that were not given."),
            "invented_details": self._with(_invented, "Answers details that are not in the mail."),
            "huge": self._with(lambda _: _candidate('{"a": "' + "x" * HUGE), "Answers 5 MB."),
            "lost_answer": losing(self),
        }

    def __call__(self, call: Call) -> Answer:
        """Answer a call."""
        return self._answer(call, lambda task: _candidate(json.dumps(_found(task))))

    def _with(self, made: Callable[[ExtractTask], dict[str, Any]], words: str) -> Answering:
        def answer(call: Call) -> Answer:
            return self._answer(call, made)

        answer.__doc__ = words
        return answer

    def _answer(self, call: Call, made: Callable[[ExtractTask], dict[str, Any]]) -> Answer:
        match [call.method, *path_of(call)]:
            case ["POST", version, "models", what] if version in _MODES:
                model, _, verb = what.partition(":")
            case _:
                return error(404, "NOT_FOUND", "There is no such route here.")
        if verb != "generateContent":
            return error(404, "NOT_FOUND", f"{verb} is not there.")
        if not call.headers.get("x-goog-api-key"):
            return _always(400, "INVALID_ARGUMENT", "API_KEY_INVALID")(call)
        user = _text_of(document_of(call) or {})
        task = task_in(user)
        if task is None:
            return error(400, "INVALID_ARGUMENT", "This is no prompt of collabiq.")
        document = made(task)
        tokens = {
            "promptTokenCount": len(user) // _CHARACTERS_PER_TOKEN,
            "candidatesTokenCount": len(str(document)) // _CHARACTERS_PER_TOKEN,
        }
        with self._lock:
            self.answered += 1
            self.calls.append(ModelCall(model, task.subject, *tokens.values()))
        return json_answer(document | {"modelVersion": model, "usageMetadata": tokens})


def error(status: int, code: str, message: str, details: list[Any] | None = None) -> Answer:
    """Return an error as Google words it."""
    inner = {"code": status, "message": message, "status": code, "details": details or []}
    return json_answer({"error": inner}, status)


def _always(status: int, code: str, reason: str) -> Answering:
    def refuse(_call: Call) -> Answer:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
        return error(status, code, "as you wished", [info])

    refuse.__doc__ = f"Answers {status} {reason}."
    return refuse


def _rate_limited(_call: Call) -> Answer:
    """Answers 429 and asks for a pause of 7 seconds."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    return error(429, "RESOURCE_EXHAUSTED", "too many requests", [info])


def _out_of_quota(_call: Call) -> Answer:
    """Answers 429: the quota of the day is spent."""
    quota = "GenerateRequestsPerDayPerProjectPerModel"
    failure = {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": quota}],
    }
    return error(429, "RESOURCE_EXHAUSTED", "the quota of the day is spent", [failure])


def _text_of(body: Mapping[str, Any]) -> str:
    try:
        return "".join(part["text"] for part in body["contents"][-1]["parts"])
    except (KeyError, IndexError, TypeError):
        return ""


def _found(task: ExtractTask) -> dict[str, Any]:
    """Return what the rules find, as a model would answer it."""
    found = extract_by_rules(task).to_document()
    document = {name: found[name] for name in _FIELDS}
    document["collaboration_intensity"] = document["collaboration_intensity"] or "이해"
    document["confidence"] = {
        name: round(min(share + _SURER, _SUREST), 2) if share else 0.0
        for name, share in found["confidence"].items()
    }
    for name, of in (("matched_company_id", "startup_name"), ("matched_partner_id", "partner_org")):
        ids = [each.id for each in task.companies if each.name == found[of]]
        document[name] = ids[0] if ids else None
    return document


def _candidate(text: str, reason: str = "STOP") -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": reason, "index": 0}]}


def _blocked(_task: ExtractTask) -> dict[str, Any]:
    return {"promptFeedback": {"blockReason": "SAFETY"}}


def _ends(reason: str) -> Callable[[ExtractTask], dict[str, Any]]:
    return lambda task: _candidate(json.dumps(_found(task))[:200], reason)


def _half(task: ExtractTask) -> dict[str, Any]:
    text = json.dumps(_found(task))
    return _candidate(text[: len(text) // 2])


def _fenced(task: ExtractTask) -> dict[str, Any]:
    return _candidate(f"```json\n{json.dumps(_found(task), indent=1)}\n```")


def _names(task: ExtractTask) -> dict[str, Any]:
    found = _found(task)
    found["matched_company_id"] = found["startup_name"]
    found["matched_partner_id"] = found["partner_org"]
    return _candidate(json.dumps(found))


def _strange_ids(task: ExtractTask) -> dict[str, Any]:
    return _candidate(json.dumps(_found(task) | {"matched_company_id": "not-an-id-of-ours"}))


def _invented(task: ExtractTask) -> dict[str, Any]:
    invented = "The parties have agreed to a merger worth nine billion, effective immediately."
    return _candidate(json.dumps(_found(task) | {"details": invented}))
