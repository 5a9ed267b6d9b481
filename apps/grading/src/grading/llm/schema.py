"""The JSON Schema of evidence, as requests and prompts carry it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

NAME: Final = "evidence"
_ABOUT: Final = frozenset({"$schema", "title"})


@cache
def evidence_schema() -> dict[str, Any]:
    """Return the schema: only what the dialects of all providers have. Do not change it."""
    text = (files("grading.llm") / "evidence.schema.json").read_text(encoding="utf-8")
    return {name: value for name, value in json.loads(text).items() if name not in _ABOUT}
