"""The engine pdfminer.six: slower than poppler, and there wherever Python is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Final

from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LAParams, LTChar, LTComponent, LTContainer, LTPage, LTText, LTTextLine
from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
from pdfminer.pdffont import PDFFont
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import PDFObjRef, dict_value, list_value

from converter.gateway.document import Document, Font, Fragment, Page, check_size
from converter.gateway.errors import Reason, Refused
from converter.gateway.order import Order

_UNKNOWN: Final = "\ufffd"


def read_with_pdfminer(order: Order) -> Document:
    """Read the file; whatever pdfminer cannot make sense of is `Refused` as broken."""
    try:
        with order.pdf.open("rb") as file:
            pages = tuple(_pages(PDFDocument(PDFParser(file)), order.limits.max_pages))
    except (Refused, MemoryError):
        raise
    except PDFPasswordIncorrect as error:
        raise Refused(Reason.ENCRYPTED) from error
    # It meets broken files with exceptions of any class.
    except Exception as error:
        raise Refused(Reason.BROKEN) from error
    return Document(engine="pdfminer", version=version("pdfminer.six"), pages=pages)


def _pages(document: PDFDocument, max_pages: int) -> Iterator[Page]:
    if not document.is_extractable:
        raise Refused(Reason.PROTECTED)
    _check_tree(document, max_pages)
    resources = PDFResourceManager()
    # Weighing boxes against each other takes the cube of their number, and poppler does not.
    device = _Device(resources, laparams=LAParams(boxes_flow=None, all_texts=True))
    interpreter = PDFPageInterpreter(resources, device)
    for number, page in enumerate(PDFPage.create_pages(document), 1):
        if number > max_pages:
            raise Refused(Reason.TOO_MANY_PAGES)
        left, bottom, right, top = page.mediabox
        check_size(abs(right - left), abs(top - bottom))
        interpreter.process_page(page)
        yield _page(device.get_result(), number)


class _Device(PDFPageAggregator):
    def handle_undefined_char(self, font: PDFFont, cid: int) -> str:  # noqa: ARG002 - pdfminer's
        return _UNKNOWN


def _check_tree(document: PDFDocument, max_pages: int) -> None:
    """Raise `Refused` for a tree with a node in two places, or with too many pages.

    pdfminer would leave out what it has seen before, and the result would lack pages.
    """
    nodes: set[int] = set()
    leaves = 0
    to_visit: list[Any] = [document.catalog.get("Pages")]
    while to_visit:
        reference = to_visit.pop()
        node = dict_value(reference)
        if "Kids" not in node:
            leaves += 1
            if leaves > max_pages:
                raise Refused(Reason.TOO_MANY_PAGES)
            continue
        if isinstance(reference, PDFObjRef):
            if reference.objid in nodes:
                raise Refused(Reason.CYCLIC)
            nodes.add(reference.objid)
        to_visit.extend(list_value(node["Kids"]))


def _page(layout: LTPage, number: int) -> Page:
    return Page(
        number=number,
        width=layout.width,
        height=layout.height,
        fragments=tuple(
            fragment for line in _text_lines(layout) for fragment in _fragments(line, layout)
        ),
    )


def _text_lines(layout: LTPage) -> Iterator[LTTextLine]:
    """Yield the lines in the page and in whatever is drawn on it, in order."""
    to_visit: list[LTComponent] = [layout]
    while to_visit:
        item = to_visit.pop()
        if isinstance(item, LTTextLine):
            yield item
        elif isinstance(item, LTContainer):
            to_visit.extend(reversed(list(item)))


def _fragments(line: LTTextLine, page: LTPage) -> Iterator[Fragment]:
    """Yield what follows each other in the same font; the spaces that pdfminer adds go along."""
    run: list[LTChar] = []
    text = ""
    for item in line:
        if isinstance(item, LTChar):
            if run and _font(item) != _font(run[0]):
                yield _fragment(run, text, page)
                run, text = [], ""
            run.append(item)
            text += item.get_text()
        elif run and isinstance(item, LTText):
            text += item.get_text().replace("\n", "")
    if run:
        yield _fragment(run, text, page)


def _font(character: LTChar) -> Font:
    return Font(character.fontname, round(character.size, 1))


def _fragment(run: list[LTChar], text: str, page: LTPage) -> Fragment:
    left = min(character.x0 for character in run)
    top = max(character.y1 for character in run)
    return Fragment(
        left=left - page.x0,
        top=page.y1 - top,
        width=max(character.x1 for character in run) - left,
        height=top - min(character.y0 for character in run),
        font=_font(run[0]),
        text=text,
    )
