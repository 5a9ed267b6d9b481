"""From an answer to evidence.

What is raised never quotes an answer: it may repeat the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from pydantic import ValidationError

from grading.calls import RawAnswer
from grading.llm.errors import AnswerRefused, MalformedAnswer
from grading.scoring.evidence import Evidence
from grading.scoring.texts.lines import clean
from holdfast.classify import refusal_of

MAX_ANSWER_CHARACTERS: Final = 512 * 1024
OPENAI: Final = "openai:"
"""What the provider of an answer in the form of chat completions begins with."""
_MAX_STRING: Final = 400
_MAX_CRITERION: Final = 40
_MAX_ITEMS: Final = {
    "requirements": 20,
    "irrelevant": 20,
    "levels": 10,
    "errors": 100,
    "strengths": 10,
    "weaknesses": 10,
    "suggestions": 10,
}
_FENCE: Final = re.compile(r"```[A-Za-z]{0,10}[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_SHOWN_REASONS: Final = 3


def evidence_of(raw: RawAnswer) -> Evidence:
    """Return the evidence that an answer is.

    Raises `MalformedAnswer` where it is none, and `AnswerRefused` where the model would not assess.
    Every instance of the schema is accepted: what is longer than evidence may be is cut.
    """
    text = _content(raw.body) if raw.provider.startswith(OPENAI) else raw.body
    document = _loaded(_without_wrapping(text))
    if not isinstance(document, Mapping):
        raise MalformedAnswer("the answer is not a JSON object")
    if not isinstance(document.get("levels"), list):
        raise MalformedAnswer("the answer has no list of levels")
    try:
        return Evidence.model_validate(_limited(document))
    except ValidationError as error:
        kinds = sorted(
            {f"{'.'.join(map(str, each['loc'][:1]))}: {each['type']}" for each in error.errors()}
        )
    shown = ", ".join(kinds[:_SHOWN_REASONS])
    raise MalformedAnswer(f"the answer does not fit the schema: {shown}")


def _content(body: str) -> str:
    """Return the text in a chat completion."""
    if len(body) > MAX_ANSWER_CHARACTERS:
        raise MalformedAnswer("the answer is too long")
    completion = _loaded(body)
    if refusal_of(completion) is not None:
        raise AnswerRefused("the model would not assess this text")
    choices = completion.get("choices") if isinstance(completion, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    text = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(text, str) or not text.strip():
        raise MalformedAnswer("the answer has no text")
    if first.get("finish_reason") == "length":
        raise MalformedAnswer("the answer was cut off at the model's limit; be shorter")
    return text


def _without_wrapping(text: str) -> str:
    """Return the text without a model's thoughts before it and a code fence around it."""
    text = _THOUGHT.sub("", text, count=1).strip()
    fenced = _FENCE.fullmatch(text)
    return fenced[1] if fenced else text


def _loaded(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MalformedAnswer("the answer is not JSON") from None


def _refuse(_constant: str) -> NoReturn:
    raise ValueError


def _limited(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its lists and strings cut to what evidence may have."""
    limited = dict(document)
    for name, most in _MAX_ITEMS.items():
        items = limited.get(name)
        if isinstance(items, list):
            limited[name] = [_cut(item) for item in items[:most]]
    return limited


def _cut(item: Any) -> Any:  # noqa: ANN401 - as it came
    if isinstance(item, str):
        return clean(item, max_characters=_MAX_STRING)
    if isinstance(item, Mapping):
        return {
            name: clean(
                value, max_characters=_MAX_CRITERION if name == "criterion" else _MAX_STRING
            )
            if isinstance(value, str)
            else value
            for name, value in item.items()
        }
    return item
