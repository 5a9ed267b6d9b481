"""Column lists and array literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from holdfast.core.job.job import Job

_TEXT_CAST: Final = frozenset({"id", "rerun_of"})
JOB_COLUMNS: Final = ", ".join(
    f"job.{name}::text" if name in _TEXT_CAST else f"job.{name}" for name in Job._fields
)


_PLAIN_COLUMNS: Final = frozenset(
    {
        "id",
        "priority",
        "version",
        "rerun_of",
        "created_at",
        "run_at",
        "deadline_at",
        "run",
        "attempt",
        "token",
        "lease_until",
        "attempt_at",
        "finished_at",
        "snoozes",
        "interruptions",
        "retries",
        "job_id",
        "expected",
        "at",
        "attempts",
        "first_at",
        "entry_at",
        "entry_attempt",
        "entry_started_at",
        "entry_http_status",
        "http_status",
        "retryable",
        "outcome_known",
    }
)
"""Columns of numbers and ids, whose values need no quoting."""


def plain_array(values: Iterable[object]) -> str:
    """Return the array literal of numbers, ids or other values that need no quoting.

    Building the literal is several times faster than adapting a list element by element.
    """
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def text_column(values: Sequence[str | None]) -> str:
    """Return the array literal of a column of texts, quick where all are the same."""
    first = values[0]
    if values.count(first) == len(values):
        return "{" + ",".join([_quoted(first)] * len(values)) + "}"
    return text_array(values)


def text_array(values: Iterable[str | None]) -> str:
    """Return the array literal of texts, quoted so that any text survives."""
    return "{" + ",".join([_quoted(value) for value in values]) + "}"


def _quoted(value: str | None) -> str:
    if value is None:
        return "NULL"
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'


def arrays(columns: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the array literal of each column, for `unnest` of all of them at once."""
    return {name: _array(name, values) for name, values in columns.items()}


def _array(name: str, values: Sequence[Any]) -> str:
    if values.count(None) == len(values):
        return "{}"  # which `unnest` fills up with nulls, as long as another column is longer
    return plain_array(values) if name in _PLAIN_COLUMNS else text_column(values)
