"""What a child process is asked to do, as it travels to it, and how it answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from converter.gateway.errors import Reason
from converter.gateway.limits import Limits

FIRST_EXIT_CODE: Final = 10
_REASONS: Final = tuple(Reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Convert `pdf` by `mapping` into `result`; with pdfminer, unless `pdftohtml` is given."""

    pdf: Path
    mapping: str
    result: Path
    pdftohtml: Path | None
    limits: Limits

    def to_json(self) -> str:
        """Return the order as text."""
        return json.dumps(asdict(self), default=str)

    @staticmethod
    def from_json(text: str) -> Order:
        """Return the order that `to_json` wrote."""
        given = json.loads(text)
        pdftohtml = given["pdftohtml"]
        return Order(
            pdf=Path(given["pdf"]),
            mapping=given["mapping"],
            result=Path(given["result"]),
            pdftohtml=None if pdftohtml is None else Path(pdftohtml),
            limits=Limits(**given["limits"]),
        )


def exit_code_of(reason: Reason) -> int:
    """Return the exit code that stands for a reason: one can be given with no memory left."""
    return FIRST_EXIT_CODE + _REASONS.index(reason)


def reason_of(exit_code: int) -> Reason | None:
    """Return the reason that an exit code stands for, None if it stands for none."""
    place = exit_code - FIRST_EXIT_CODE
    return _REASONS[place] if 0 <= place < len(_REASONS) else None
