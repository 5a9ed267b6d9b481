"""Documents and recordings that cannot be read: the next attempt reads the same bytes."""

from __future__ import annotations

from typing import Final

from holdfast.classify.reasons import came_through
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import INVALID, MISCONFIGURED
from holdfast.core.values.instant import Instant

_READERS: Final = ("chunk.", "pdfminer.", "pypdf.", "wave.")


def _verdict_of_end(error: EOFError, _now: Instant) -> Verdict | None:
    """A file that ends too early, as the readers of the standard library say it."""
    return INVALID if came_through(error, _READERS) else None


DOCUMENTS: Final[tuple[Rule, ...]] = (
    # Passwords that are missing or wrong are among these.
    Rule(("pdfminer.PSException", "pypdf.PyPdfError", "wave.Error"), INVALID),
    Rule(EOFError, _verdict_of_end),
    Rule(named("pypdf", "DependencyError DeprecationError"), MISCONFIGURED),
)
