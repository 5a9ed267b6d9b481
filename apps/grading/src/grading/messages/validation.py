"""Reads messages strictly: by their JSON Schema, then by the model of either side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
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
def _validator(message_type: str) -> Any:  # noqa: ANN401 - the library has no types
    return Draft202012Validator(schema_of(message_type))


def _read(message_type: str, model: type[_Model], payload: object) -> _Model:
    flaws = _validator(message_type).iter_errors(payload)
    lines = _lines(dict.fromkeys(item for flaw in flaws for item in _places(flaw)))
    if lines:
        raise DoesNotFit(lines)
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise DoesNotFit(_lines((flaw["loc"], flaw["msg"]) for flaw in found)) from error


def _places(flaw: Any) -> Iterator[tuple[tuple[Any, ...], str]]:  # noqa: ANN401 - as above
    """Yield where a flaw is and which rule is broken; of missing fields, each field."""
    path = tuple(flaw.absolute_path)
    if flaw.validator == "required" and isinstance(flaw.instance, Mapping):
        for name in flaw.validator_value:
            if name not in flaw.instance:
                yield (*path, name), "is missing"
        return
    bound = flaw.validator_value
    shown = f" {bound}" if isinstance(bound, str | int | float) else ""
    yield path, f"breaks the rule {flaw.validator}{shown}"


def _lines(flaws: Iterable[tuple[Iterable[Any], str]]) -> str:
    """Return where a message does not fit and which rule it breaks; values are left out."""
    found = [f"{'/'.join(map(str, path)) or 'message'}: {rule}" for path, rule in flaws]
    more = len(found) - MAX_FLAWS
    text = "; ".join(found[:MAX_FLAWS]) + (f"; and {more} more" if more > 0 else "")
    return text[:MAX_CHARACTERS]
