"""Engines: what reads a PDF. Both give a `Document`; its text may differ."""

from __future__ import annotations

from converter.gateway.document import Document
from converter.gateway.engines.poppler import PopplerMisspoke, read_with_poppler
from converter.gateway.errors import Reason, Refused
from converter.gateway.order import Order


def read(order: Order) -> Document:
    """Read the file of an order, or raise `Refused` or `MemoryError`."""
    document = _read(order)
    if not document.pages:
        raise Refused(Reason.BROKEN)
    if not any(page.has_text for page in document.pages):
        raise Refused(Reason.NO_TEXT)
    return document


def _read(order: Order) -> Document:
    if order.pdftohtml is not None:
        try:
            return read_with_poppler(order, order.pdftohtml)
        except PopplerMisspoke:
            pass
    # Takes long to import, and poppler does without.
    from converter.gateway.engines.miner import read_with_pdfminer  # noqa: PLC0415

    return read_with_pdfminer(order)
