"""Whether what was sent is a PDF, by its first bytes and not by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from converter.gateway.pdf_check import HEAD_BYTES, begins_like_pdf


class NotPdf(Exception):
    """The file does not begin like a PDF."""


def checked_pdf(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a file as they come, or raise `NotPdf` before the first is yielded."""
    parts = iter(chunks)
    head = b""
    for chunk in parts:
        head += chunk
        if len(head) >= HEAD_BYTES or begins_like_pdf(head):
            break
    if not begins_like_pdf(head):
        raise NotPdf
    yield head
    yield from parts
