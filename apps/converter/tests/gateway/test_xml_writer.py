"""XML is well-formed whatever it is made of, and says what it was given."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from apps.converter.tests.gateway.schemas import PARSER, validated
from converter.gateway import Reason, Refused
from converter.gateway.document import Document, Font, Fragment, Page
from converter.gateway.mappings import MAPPINGS
from converter.gateway.xml_check import check_xml
from converter.gateway.xml_text import legal
from converter.gateway.xml_writer import XmlWriter

ANY_TEXT = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from("\x00\x01\x08\x0b\x1f\x7f\x85\ud800\udfff\ufffe\uffff\u2028&<>\"'\r\n\t ]"),
    ),
    max_size=30,
) | st.sampled_from(["]]>", "<![CDATA[", "&amp;", "<!DOCTYPE x>", "--><!--", "?>", "\r\n", "'\""])
ANY_NUMBER = st.floats(width=64)
FONTS = st.builds(Font, ANY_TEXT, ANY_NUMBER)
FRAGMENTS = st.builds(
    Fragment,
    left=ANY_NUMBER,
    top=ANY_NUMBER,
    width=ANY_NUMBER,
    height=ANY_NUMBER,
    font=FONTS,
    text=ANY_TEXT,
)
SIDES = st.floats(0.01, 100_000)


@st.composite
def documents(draw):
    pages = draw(st.lists(st.lists(FRAGMENTS, max_size=6), min_size=1, max_size=3))
    return Document(
        engine=draw(st.sampled_from(["poppler", "pdfminer"])),
        version=draw(ANY_TEXT),
        pages=tuple(
            Page(number=number, width=draw(SIDES), height=draw(SIDES), fragments=tuple(fragments))
            for number, fragments in enumerate(pages, 1)
        ),
    )


def written(write, *, max_bytes: int = 2**30) -> bytes:
    out = io.BytesIO()
    write(XmlWriter(out, max_bytes=max_bytes))
    return out.getvalue()


@pytest.mark.parametrize("mapping", MAPPINGS)
@given(document=documents())
def test_every_mapping_writes_what_its_schema_accepts_whatever_the_text(mapping, document):
    xml = written(lambda writer: MAPPINGS[mapping](document, writer))

    check_xml(xml)
    validated(xml, mapping)


@settings(max_examples=2 * settings().max_examples)
@given(text=ANY_TEXT, attribute=ANY_TEXT)
def test_a_parser_reads_what_was_written_but_for_what_xml_cannot_hold(text, attribute):
    xml = written(lambda writer: writer.leaf("a", text, b=attribute))

    root = etree.fromstring(xml, PARSER)
    assert (root.text or "", root.get("b")) == (legal(text), legal(attribute))


def test_only_what_xml_cannot_hold_is_left_out():
    assert legal("a\x00b\x0bc\ud800d\ufffee\uffff") == "abcde"
    assert legal("\t\n\r \x7f\x85\ud7ff\ue000\ufffd\U0010ffff") == (
        "\t\n\r \x7f\x85\ud7ff\ue000\ufffd\U0010ffff"
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0"),
        (-0.001, "0"),
        (12.0, "12"),
        (12.345, "12.35"),
        (1e300, "1000000"),
        (float("-inf"), "-1000000"),
        (float("nan"), "0"),
        (True, "true"),
        (7, "7"),
    ],
)
def test_values_are_written_as_schemas_know_them(value, expected):
    root = etree.fromstring(written(lambda writer: writer.leaf("a", b=value)), PARSER)

    assert root.get("b") == expected


def test_nothing_is_written_above_the_limit():
    out = io.BytesIO()
    writer = XmlWriter(out, max_bytes=60)
    writer.leaf("a", "x" * 10)
    with pytest.raises(Refused) as refused:
        writer.leaf("a", "x" * 10)

    assert refused.value.reason is Reason.RESULT_TOO_LARGE
    assert len(out.getvalue()) <= 60
