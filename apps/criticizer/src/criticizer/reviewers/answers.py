"""What a model answered: a critique, or nothing that can be used.

What is raised never quotes an answer: it may repeat the change, secrets included.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal, NoReturn

from pydantic import ValidationError

from criticizer.critique import Critique, Finding
from criticizer.reviewers.errors import MalformedAnswer

ResponseFormat = Literal["json_schema", "json_object", "text"]
"""How strictly an endpoint can be held to JSON."""
MAX_ANSWER_LENGTH: Final = 256 * 1024

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["summary", "findings"],
    "properties": {
        "summary": {"type": "string"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file", "line", "severity", "message", "suggestion"],
                "properties": {
                    "file": {"type": "string"},
                    "line": {"type": ["integer", "null"]},
                    "severity": {"type": "string", "enum": ["info", "warning", "error"]},
                    "message": {"type": "string"},
                    "suggestion": {"type": ["string", "null"]},
                },
            },
        },
    },
}
"""The critique as models are asked for it: only what every provider's dialect of schemas has."""

_FENCE: Final = re.compile(r"```[A-Za-z]{0,10}[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHOWN_REASONS: Final = 3


def critique_in(text: str) -> Critique:
    """Return the critique that an answer is; raises `MalformedAnswer` for any other answer.

    A code fence around it is taken off; besides that the answer is the JSON object and no more.
    """
    if len(text) > MAX_ANSWER_LENGTH:
        raise MalformedAnswer("the answer is too long")
    text = text.strip()
    fenced = _FENCE.fullmatch(text)
    try:
        document = json.loads(
            fenced[1] if fenced else text,
            parse_constant=_refused,
            object_pairs_hook=_without_repeats,
        )
    except (ValueError, RecursionError):
        raise MalformedAnswer("the answer is not JSON") from None
    return critique_of(document)


def critique_of(document: object) -> Critique:
    """Return the critique that a document is; raises `MalformedAnswer` when it is none."""
    try:
        return _cleaned(Critique.model_validate(document))
    except ValidationError as error:
        kinds = sorted({each["type"] for each in error.errors(include_input=False)})
        shown = ", ".join(kinds[:_SHOWN_REASONS])
        count = error.error_count()
    raise MalformedAnswer(f"the answer has {count} faults in its form: {shown}")


def _refused(_constant: str) -> NoReturn:
    raise ValueError


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, unless it says one thing twice: then nobody knows which one is meant."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


def _cleaned(critique: Critique) -> Critique:
    """Return the critique without what terminals obey and databases refuse."""
    return Critique(
        summary=_text(critique.summary),
        findings=[
            Finding(
                file=_text(found.file),
                line=found.line,
                severity=found.severity,
                message=_text(found.message),
                suggestion=None if found.suggestion is None else _text(found.suggestion),
            )
            for found in critique.findings
        ],
    )


def _text(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
