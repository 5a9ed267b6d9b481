"""Figures of systems, shown to Prometheus beside the engine's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.errors import InvalidValue

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,99}")
_OWN: Final = "holdfast_"
_KINDS: Final = ("gauge", "counter")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: a gauge that goes up and down, or a counter that only goes up.

    Figures of one name are one metric, so their kinds and the names of their labels have to agree.
    Labels are declared names, never ids, addresses or texts: everybody reads them.
    """

    name: str
    help: str
    kind: Literal["gauge", "counter"]
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name.startswith(_OWN):
            limit = f"a small letter, then small letters, digits and '_', and not begin with {_OWN}"
            raise InvalidValue("Figure", field="name", value=self.name, limit=limit)
        if self.kind not in _KINDS:
            raise InvalidValue("Figure", field="kind", value=self.kind, limit="gauge or counter")
        for label in self.labels:
            if not _NAME.fullmatch(label):
                limit = "names of small letters, digits and '_'"
                raise InvalidValue("Figure", field="labels", value=label, limit=limit)
