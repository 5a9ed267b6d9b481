"""Which XML may be kept: well-formed, bounded, and without anything that grows or is fetched."""

import gc
import weakref
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.gateway.xml_check import MAX_TAG_BYTES, XmlCheck, XmlRefused, check_xml

GOOD = {
    "plain": b"<a><b c='d'>text</b></a>",
    "declared": b'<?xml version="1.0" encoding="UTF-8"?>\n<a/>\n',
    "latin": '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"),
    "wide": '<?xml version="1.0" encoding="UTF-16"?><a>é</a>'.encode("utf-16"),
    "own entities": b"<a>&lt;&amp;&#38;&#x26;&quot;</a>",
    "cdata": b"<a><![CDATA[<!DOCTYPE a>]]></a>",
    "comment": b"<!-- <!DOCTYPE a> --><a/>",
    "namespaces": b"<x:a xmlns:x='urn:x'><x:b/></x:a>",
}
LAUGHS = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
DANGEROUS = {
    "billion laughs": f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]><x>&l9;</x>',
    "quadratic": f'<!DOCTYPE x [<!ENTITY a "{"a" * 50_000}">]><x>{"&a;" * 1_000}</x>',
    "entity in a circle": '<!DOCTYPE x [<!ENTITY a "&b;"><!ENTITY b "&a;">]><x>&a;</x>',
    "external file": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    "external address": '<!DOCTYPE x [<!ENTITY e SYSTEM "http://127.0.0.1/">]><x>&e;</x>',
    "parameter entity": '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1/"> %p;]><x/>',
    "external dtd": '<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd"><x/>',
    "public dtd": '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "http://127.0.0.1/"><html/>',
    "empty dtd": "<!DOCTYPE x><x/>",
    "default attributes": f'<!DOCTYPE x [<!ATTLIST x a CDATA "{"a" * 9_999}">]><x/>',
}
BROKEN = {
    "nothing": b"",
    "white space": b" \n",
    "text": b"hello",
    "half": b"<a><b></b>",
    "crossed": b"<a><b></a></b>",
    "two roots": b"<a/><a/>",
    "tail": b"<a/>tail",
    "unknown entity": b"<a>&nbsp;</a>",
    "control character": b"<a>\x01</a>",
    "wrong bytes": b"<a>\xff</a>",
    "unknown encoding": b'<?xml version="1.0" encoding="utf-7"?><a/>',
    "encoding that is none": b'<?xml version="1.0" encoding="zlib"?><a/>',
    "html": b"<!doctype html><p>hello",
}


@pytest.mark.parametrize("name", GOOD)
def test_xml_as_it_should_be_is_accepted(name):
    check_xml(GOOD[name])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", DANGEROUS)
def test_a_document_type_is_refused_whatever_it_holds(name, encoding):
    with pytest.raises(XmlRefused, match="document type declaration"):
        check_xml(DANGEROUS[name].encode(encoding))


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_well_formed_is_refused(name):
    with pytest.raises(XmlRefused) as refused:
        check_xml(BROKEN[name])

    assert "\n" not in str(refused.value)


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_it_makes_no_difference_how_it_arrives(name, data):
    check = XmlCheck()
    left = GOOD[name]
    while left:
        size = data.draw(st.integers(1, len(left)))
        check.feed(left[:size])
        left = left[size:]

    check.close()


@given(st.binary(max_size=200))
def test_noise_is_refused_or_accepted_and_nothing_else(noise):
    with suppress(XmlRefused):
        check_xml(b"<a>" + noise + b"</a>")


def test_the_limit_of_bytes_holds_to_the_byte():
    check_xml(b"<a>bcd</a>", max_bytes=10)

    with pytest.raises(XmlRefused, match="more than 9 bytes"):
        check_xml(b"<a>bcd</a>", max_bytes=9)


def test_too_much_is_refused_before_the_rest_has_arrived():
    fed = 0

    def endless():
        nonlocal fed
        yield b"<a>"
        while True:
            fed += 1
            yield b"x" * 1_000

    with pytest.raises(XmlRefused, match="more than 100000 bytes"):
        check_xml(endless(), max_bytes=100_000)
    assert fed == 100


def test_elements_are_not_nested_without_end():
    check_xml(b"<a>" * 256 + b"</a>" * 256)

    with pytest.raises(XmlRefused, match="nested more than 256 deep"):
        check_xml(b"<a>" * 257 + b"</a>" * 257)


def test_elements_are_counted():
    check = XmlCheck(max_elements=3)
    check.feed(b"<a><b/><b/>")

    with pytest.raises(XmlRefused, match="more than 3 elements"):
        check.feed(b"<b/>")


@pytest.mark.parametrize("start", [b"<a b='", b"<a><!-- ", b"<a><?p "])
def test_an_endless_tag_is_refused(start):
    def endless():
        yield start
        while True:
            yield b"x" * 10_000

    with pytest.raises(XmlRefused, match=f"more than {MAX_TAG_BYTES} bytes"):
        check_xml(endless())


def test_long_text_is_no_tag():
    check_xml(b"<a>" + b"x" * (3 * MAX_TAG_BYTES) + b"</a>")


def test_what_was_checked_is_freed_at_once():
    check = XmlCheck()
    check.feed(b"<a/>")
    check.close()
    freed = weakref.ref(check)

    gc.disable()
    try:
        del check
        assert freed() is None
    finally:
        gc.enable()
