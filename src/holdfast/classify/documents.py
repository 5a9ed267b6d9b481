"""Documents and recordings that cannot be read: the next attempt reads the same bytes."""

from __future__ import annotations

from typing import Final

from holdfast.classify.rule import Rule, named
from holdfast.classify.verdicts import INVALID, MISCONFIGURED

DOCUMENTS: Final[tuple[Rule, ...]] = (
    # Passwords that are missing or wrong are among these.
    Rule(("pdfminer.PSException", "pypdf.PyPdfError", "wave.Error"), INVALID),
    Rule(named("pypdf", "DependencyError DeprecationError"), MISCONFIGURED),
)
