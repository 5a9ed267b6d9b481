"""Reads messages strictly: by their JSON Schema, then by the model of either side."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, TypeVar

from jsonschema_rs import Draft202012Validator
from jsonschema_rs import ValidationError as Flaw
from pydantic import BaseModel, ValidationError

from grading.messages.contract import CALLBACK, REQUEST, GradingCallback, GradingRequest
from grading.messages.json_schemas import schema_of

MAX_FLAWS: Final = 5
MAX_CHARACTERS: Final = 400
_Model = TypeVar("_Model", bound=BaseModel)


class DoesNotFit(Exception):
    """A message is not what its type says; it says where and why, and nothing of what it holds."""


def read_request(payload: object) -> GradingRequest:
    """Return a request, or raise `DoesNotFit`."""
    return _read(REQUEST, GradingRequest, payload)


def read_callback(payload: object) -> GradingCallback:
    """Return a callback, or raise `DoesNotFit`."""
    return _read(CALLBACK, GradingCallback, payload)


@cache
def _validator(message_type: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(message_type))


def _read(message_type: str, model: type[_Model], payload: object) -> _Model:
    validator = _validator(message_type)
    if not validator.is_valid(payload):
        raise DoesNotFit(_lines(dict.fromkeys(map(_place, validator.iter_errors(payload)))))
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise DoesNotFit(_lines((flaw["loc"], flaw["msg"]) for flaw in found)) from error


def _place(flaw: Flaw) -> tuple[tuple[Any, ...], str]:
    """Return where a flaw is and which rule is broken."""
    path, rule, bound = tuple(flaw.instance_path), flaw.kind.name, flaw.kind.value
    if rule == "required":
        return (*path, bound), "is missing"
    shown = f" {bound}" if isinstance(bound, str | int | float) else ""
    return path, f"breaks the rule {rule}{shown}"


def _lines(flaws: Iterable[tuple[Iterable[Any], str]]) -> str:
    """Return where a message does not fit and which rule it breaks; values are left out."""
    found = [f"{'/'.join(map(str, path)) or 'message'}: {rule}" for path, rule in flaws]
    more = len(found) - MAX_FLAWS
    text = "; ".join(found[:MAX_FLAWS]) + (f"; and {more} more" if more > 0 else "")
    return text[:MAX_CHARACTERS]
