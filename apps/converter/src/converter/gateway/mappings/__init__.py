"""Mappings: which XML is made of a document. Each has a schema of its name in `schemas/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from converter.gateway.document import Document
from converter.gateway.mappings.layout import write_layout
from converter.gateway.mappings.raw import write_raw
from converter.gateway.mappings.text import write_text
from converter.gateway.xml_writer import XmlWriter

MAPPINGS: Final[Mapping[str, Callable[[Document, XmlWriter], None]]] = MappingProxyType(
    {"text": write_text, "layout": write_layout, "raw": write_raw}
)
