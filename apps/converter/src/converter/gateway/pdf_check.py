"""Whether a file is a PDF at all, by its first and last bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from converter.gateway.errors import Reason, Refused
from converter.gateway.limits import Limits

HEAD_BYTES: Final = 1024
"""How many of the first bytes say whether a file begins like a PDF."""
_TAIL_BYTES: Final = 8 * 1024
_MARK: Final = b"%PDF-"
_BEFORE_MARK: Final = b"\xef\xbb\xbf\x00\t\n\f\r "


def begins_like_pdf(head: bytes) -> bool:
    """Return whether the mark of PDF is the first thing in these bytes, blanks aside.

    Readers take other bytes before it as well; then the same file may be a page of HTML.
    """
    return head[:HEAD_BYTES].lstrip(_BEFORE_MARK).startswith(_MARK)


def check_pdf(pdf: Path, limits: Limits) -> None:
    """Raise `Refused` for what is no PDF, is too large, or lacks its end.

    Engines make what they can of half a file, and nobody would notice that the rest is missing. So
    it has to end with the address of its table; of the end marker itself many do without.
    """
    with pdf.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(HEAD_BYTES)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES)
    if not begins_like_pdf(head):
        raise Refused(Reason.NOT_A_PDF)
    if size > limits.max_pdf_bytes:
        raise Refused(Reason.TOO_LARGE, limits)
    if b"startxref" not in tail:
        raise Refused(Reason.TRUNCATED)
