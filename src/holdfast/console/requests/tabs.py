"""A row of links that choose what a list shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.console.requests.visit import Visit


class Tab(NamedTuple):
    """One of the links."""

    name: str
    href: str
    current: bool


def tabs(visit: Visit, parameter: str, choices: Sequence[tuple[str, str | None]]) -> list[Tab]:
    """Return links that set a parameter to one of the choices, and lead back to the first page."""
    now = visit.asked(parameter)
    return [
        Tab(name, visit.href(**{parameter: value, "before": None}), value == now)
        for name, value in choices
    ]
