"""The mapping `text`: pages and lines."""

from __future__ import annotations

from typing import Final

from converter.gateway.document import Document
from converter.gateway.lines import lines_of
from converter.gateway.xml_writer import XmlWriter

NAMESPACE: Final = "urn:holdfast-converter:text:1"


def write_text(document: Document, xml: XmlWriter) -> None:
    """Write the lines of every page, top down, and nothing about how they look."""
    with xml.element("document", xmlns=NAMESPACE, pages=len(document.pages)):
        for page in document.pages:
            with xml.element("page", number=page.number, **page.remark):
                for line in lines_of(page.fragments):
                    xml.leaf("line", line.text)
