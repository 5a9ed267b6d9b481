"""The mapping `layout`: where lines and their fragments are, and in which fonts."""

from __future__ import annotations

from typing import Final

from converter.gateway.document import Document, Font
from converter.gateway.lines import lines_of
from converter.gateway.xml_writer import XmlWriter

NAMESPACE: Final = "urn:holdfast-converter:layout:1"


def write_layout(document: Document, xml: XmlWriter) -> None:
    """Write the fonts, then the lines of every page as boxes of fragments."""
    names = _named(document)
    with xml.element("document", xmlns=NAMESPACE, unit="pt", pages=len(document.pages)):
        with xml.element("fonts"):
            for font, name in names.items():
                xml.leaf(
                    "font",
                    id=name,
                    family=font.family,
                    size=font.size,
                    bold=font.bold,
                    italic=font.italic,
                )
        for page in document.pages:
            with xml.element(
                "page",
                number=page.number,
                width=page.width,
                height=page.height,
                **page.remark,
            ):
                for line in lines_of(page.fragments):
                    with xml.element(
                        "line",
                        left=line.left,
                        top=line.top,
                        width=line.width,
                        height=line.height,
                    ):
                        for fragment in line.fragments:
                            xml.leaf(
                                "fragment",
                                fragment.text,
                                left=fragment.left,
                                top=fragment.top,
                                width=fragment.width,
                                height=fragment.height,
                                font=names[fragment.font],
                            )


def _named(document: Document) -> dict[Font, str]:
    """Return a name for every font that a line uses, in the order in which they appear."""
    names: dict[Font, str] = {}
    for page in document.pages:
        for line in lines_of(page.fragments):
            for fragment in line.fragments:
                names.setdefault(fragment.font, f"f{len(names) + 1}")
    return names
