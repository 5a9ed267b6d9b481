"""The JSON Schemas of the messages as documents."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from grading.messages.contract import SCHEMA_VERSION


@cache
def schema_of(message_type: str) -> dict[str, Any]:
    """Return the JSON Schema of a type of message, such as `grading.request`."""
    name = f"{message_type}.v{SCHEMA_VERSION}.json"
    text = (resources.files("grading.messages.schemas") / name).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document
