"""The mapping `raw`: what the engine gave, in its order, with nothing joined or left out."""

from __future__ import annotations

from typing import Final

from converter.gateway.document import Document
from converter.gateway.xml_writer import XmlWriter

NAMESPACE: Final = "urn:holdfast-converter:raw:1"


def write_raw(document: Document, xml: XmlWriter) -> None:
    """Write every fragment as it was found, and which engine found it."""
    with xml.element(
        "raw",
        xmlns=NAMESPACE,
        engine=document.engine,
        version=document.version,
        unit="pt",
        pages=len(document.pages),
    ):
        for page in document.pages:
            with xml.element(
                "page",
                number=page.number,
                width=page.width,
                height=page.height,
                **page.remark,
            ):
                for fragment in page.fragments:
                    xml.leaf(
                        "text",
                        fragment.text,
                        left=fragment.left,
                        top=fragment.top,
                        width=fragment.width,
                        height=fragment.height,
                        font=fragment.font.name,
                        size=fragment.font.size,
                    )
