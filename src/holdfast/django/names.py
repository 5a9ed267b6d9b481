"""What a task's name, and its place in Django's order, are in holdfast."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from holdfast.core.job.job import PRIORITIES
from holdfast.pipeline.names import MAX_NAME_LENGTH

_PREFIX: Final = "django."
_DIGITS: Final = 8
_LOWEST: Final = -100
_PRIORITIES_IN_ONE: Final = 50


def pipeline_name(module_path: str) -> str:
    """Return the name of a task's pipeline: its path, of a long one the end and a digest."""
    name = f"{_PREFIX}{module_path}"
    if len(name) <= MAX_NAME_LENGTH:
        return name
    digest = sha256(module_path.encode()).hexdigest()[:_DIGITS]
    beginning = f"{_PREFIX}{digest}."
    return beginning + module_path[len(beginning) - MAX_NAME_LENGTH :]


def priority_of(priority: int) -> int:
    """Return which of holdfast's four priorities one of Django's is; 0 is the default of both.

    Django counts from -100 to 100, the highest first; holdfast from 0, the lowest first.
    """
    return max(PRIORITIES) - min((priority - _LOWEST) // _PRIORITIES_IN_ONE, max(PRIORITIES))
