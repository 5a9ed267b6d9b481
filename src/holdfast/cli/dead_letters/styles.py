"""The colour of each word for how a dead letter stands."""

from __future__ import annotations

from typing import Final

from holdfast.cli.shell.output import Styled
from holdfast.core.dead_letter.dead_letter import Standing
from holdfast.views.dead_letter import LetterView

_STYLES: Final = {
    Standing.OPEN: "red",
    Standing.ESCALATED: "bold red",
    Standing.TRIAGED: "yellow",
    Standing.REMEDIATED: "cyan",
    Standing.REPLAYING: "cyan",
    Standing.VERIFIED: "green",
    Standing.CANCELLED: "dim",
    Standing.RESOLVED: "dim",
}


def standing_of(view: LetterView) -> Styled:
    """Return the word for how the letter stands, in its colour."""
    return Styled(view.standing.value, _STYLES[view.standing])
