"""Refusals that arrive as a success: HTTP 200, and in the body a model that would not answer.

By shape, for the answers of OpenAI (chat completions and responses), Anthropic and Gemini, as
objects of their SDKs or as the JSON of their APIs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, Category, ErrorClass, Failure, Severity
from holdfast.errors import GiveUp
from holdfast.secrecy import safe_text

_OPENAI_FINISH: Final = frozenset({"content_filter"})
_ANTHROPIC_STOP: Final = frozenset({"refusal"})
_GEMINI_FINISH: Final = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
_UNBLOCKED: Final = frozenset({"", "BLOCKED_REASON_UNSPECIFIED"})
_MAX_PARTS: Final = 200


def refusal_of(response: object) -> Failure | None:
    """Return the failure that a model's refusal is; None when it did not refuse.

    The model was asked and answered, so that the outcome is known; asking again changes nothing.
    """
    reason = next(_reasons(response), None)
    if reason is None:
        return None
    return Failure(
        error_class=ErrorClass.CONTENT_POLICY,
        message=safe_text(f"the model refused: {reason}", MAX_MESSAGE_LENGTH),
        category=Category.PERMANENT,
        retryable=False,
        severity=Severity.ERROR,
    )


def raise_if_refused(response: object) -> None:
    """Give up, with the error class CONTENT_POLICY, when the model refused."""
    refusal = refusal_of(response)
    if refusal is not None:
        raise GiveUp(refusal.error_class, refusal.message)


def _reasons(response: object) -> Iterator[str]:
    yield from _of_chat_completion(response)
    yield from _of_openai_response(response)
    stopped = _text(_get(response, "stop_reason"))
    if stopped in _ANTHROPIC_STOP:
        yield f"stop_reason {stopped}"
    yield from _of_gemini(response)


def _of_chat_completion(response: object) -> Iterator[str]:
    for choice in _items(response, "choices"):
        finished = _text(_get(choice, "finish_reason"))
        if finished in _OPENAI_FINISH:
            yield f"finish_reason {finished}"
        said = _text(_get(choice, "message", "refusal"))
        if said:
            yield said


def _of_openai_response(response: object) -> Iterator[str]:
    incomplete = _text(_get(response, "incomplete_details", "reason"))
    if incomplete in _OPENAI_FINISH:
        yield f"incomplete: {incomplete}"
    for item in _items(response, "output"):
        for part in _items(item, "content"):
            if _text(_get(part, "type")) == "refusal":
                yield _text(_get(part, "refusal")) or "refusal"


def _of_gemini(response: object) -> Iterator[str]:
    feedback = _get(response, "prompt_feedback") or _get(response, "promptFeedback")
    blocked = _text(_get(feedback, "block_reason") or _get(feedback, "blockReason"))
    if blocked not in _UNBLOCKED:
        yield f"block_reason {blocked}"
    for candidate in _items(response, "candidates"):
        finished = _text(_get(candidate, "finish_reason") or _get(candidate, "finishReason"))
        if finished in _GEMINI_FINISH:
            yield f"finish_reason {finished}"


def _get(found: object, *names: str) -> object:
    """What lies at the end of a path of keys or attributes; None when there is no such path."""
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
    return found


def _items(found: object, name: str) -> Iterator[object]:
    items = _get(found, name)
    if isinstance(items, Sequence) and not isinstance(items, str | bytes):
        yield from islice(items, _MAX_PARTS)


def _text(value: object) -> str:
    """Return the value as text: the SDKs have enumerations where the APIs have words."""
    value = getattr(value, "value", value)
    return value if isinstance(value, str) else ""
