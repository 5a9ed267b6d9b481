"""Whether what somebody sends is a PDF, told by its first bytes and not by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

MARK: Final = b"%PDF-"
LOOKED_AT: Final = 1024
"""Readers of PDF look for the mark in the first so many bytes: some files have a few before it."""


class NotPdf(Exception):
    """The file does not begin like a PDF."""


def checked_pdf(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a file as they come, or raise `NotPdf` before the first is yielded."""
    parts = iter(chunks)
    head = b""
    for chunk in parts:
        head += chunk
        if len(head) >= LOOKED_AT or MARK in head:
            break
    if MARK not in head[: LOOKED_AT + len(MARK) - 1]:
        raise NotPdf
    yield head
    yield from parts
