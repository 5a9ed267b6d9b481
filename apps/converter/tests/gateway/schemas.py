"""Whether XML is what the schema of its mapping says."""

from functools import cache
from importlib.resources import files

from lxml import etree

PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


@cache
def schema_of(mapping: str) -> etree.XMLSchema:
    text = (files("converter.gateway") / "schemas" / f"{mapping}.xsd").read_bytes()
    return etree.XMLSchema(etree.fromstring(text, PARSER))


def validated(xml: bytes, mapping: str) -> etree._Element:
    """Return the root of XML that the schema accepts."""
    root = etree.fromstring(xml, PARSER)
    schema_of(mapping).assertValid(root)
    return root


def texts(root: etree._Element, name: str) -> list[str]:
    """Return the texts of all elements of that name."""
    return ["".join(element.itertext()) for element in root.iter(f"{{*}}{name}")]
