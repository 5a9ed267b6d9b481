"""Several rows for one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def row_values(rows: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return what follows `values`, a placeholder for each field of each row, and what they hold.

    Rows have the same fields in the same order.
    """
    named = [{f"{name}_{number}": row[name] for name in row} for number, row in enumerate(rows)]
    text = ", ".join(f"({', '.join(f':{name}' for name in row)})" for row in named)
    return text, {name: value for row in named for name, value in row.items()}
