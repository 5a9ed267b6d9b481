"""Whether what a model quotes stands in the mail."""

from __future__ import annotations

import re
from typing import Final

from rapidfuzz import fuzz

from collabiq.extract.record import CUT

ENOUGH: Final = 0.8
_MAX_TEXT: Final = 60_000
_PIECE: Final = 60
"""Characters that are looked for at a time: that many fit one machine word of the matcher."""
_MAX_PIECES: Final = 40
_SPACES: Final = re.compile(r"\s+")


def occurs(quote: str, text: str) -> float:
    """Return how much of a quote stands in a text, from 0 to 1."""
    wanted, there = _normal(quote.removesuffix(CUT)), _normal(text)[:_MAX_TEXT]
    if not wanted:
        return 1.0
    if wanted in there:
        return 1.0
    pieces = [wanted[start : start + _PIECE] for start in range(0, len(wanted), _PIECE)]
    pieces = pieces[:_MAX_PIECES]
    whole = left = sum(map(len, pieces))
    found = 0.0
    for piece in pieces:
        # A text that is shorter than the piece would be looked for in the piece.
        likeness = fuzz.partial_ratio if len(there) >= len(piece) else fuzz.ratio
        score: float = likeness(piece, there)
        found += len(piece) * score / 100
        left -= len(piece)
        if found + left < ENOUGH * whole:
            break  # however the rest fits, it is not enough
    return found / whole


def _normal(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()
