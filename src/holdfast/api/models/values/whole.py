"""Whole numbers in JSON, which may be written with a fraction of nothing."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BeforeValidator


def _whole(value: Any) -> Any:  # noqa: ANN401 - whatever was sent
    return int(value) if type(value) is float and value.is_integer() else value


WHOLE: Final = BeforeValidator(_whole)
"""Besides what limits it: a whole number. `2.0` is one; `2.5`, `"2"` and `true` are none."""
