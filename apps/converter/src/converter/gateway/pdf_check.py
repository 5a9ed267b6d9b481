"""Whether a file is a PDF at all, told by its first and last bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from converter.gateway.errors import Reason, Refused
from converter.gateway.limits import Limits

_HEAD_BYTES: Final = 1024
_TAIL_BYTES: Final = 8 * 1024
_BEFORE_HEAD: Final = b"\xef\xbb\xbf\x00\t\n\f\r "


def check_pdf(pdf: Path, limits: Limits) -> None:
    """Raise `Refused` for what is no PDF, is too large, or lacks its end.

    Engines make what they can of half a file, and nobody would notice that the rest is missing. So
    it has to end with the address of its table; of the end marker itself many do without.
    """
    with pdf.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(_HEAD_BYTES)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES)
    if not head.lstrip(_BEFORE_HEAD).startswith(b"%PDF-"):
        raise Refused(Reason.NOT_A_PDF)
    if size > limits.max_pdf_bytes:
        raise Refused(Reason.TOO_LARGE, limits)
    if b"startxref" not in tail:
        raise Refused(Reason.TRUNCATED)
