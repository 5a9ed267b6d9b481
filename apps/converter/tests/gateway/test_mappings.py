"""What each mapping makes of files that are well."""

import pytest

from apps.converter.tests.gateway.pdf_maker import (
    HELVETICA,
    document_of,
    literal,
    plain,
    text_at,
    unicode_text,
)
from apps.converter.tests.gateway.schemas import texts, validated
from converter.gateway import Limits, MappingUnknown, Refused, convert
from converter.gateway.conversion import Engine
from converter.gateway.errors import Reason
from converter.gateway.mappings import MAPPINGS

BOLD = HELVETICA.replace(b"/Helvetica", b"/Helvetica-Bold")
OBLIQUE = HELVETICA.replace(b"/Helvetica", b"/Times-Italic")
THREE_FONTS = document_of(
    [
        text_at(literal("Invoice"), 72, 720, font="F2", size=20)
        + text_at(literal("No. 17"), 300, 720, font="F3", size=12)
        + text_at(literal("in plain words"), 72, 680)
    ],
    fonts=[HELVETICA, BOLD, OBLIQUE],
)


@pytest.fixture
def converted(tmp_path, engine):
    """Converts bytes and returns the root of what came out, which its schema accepts."""

    def converted(pdf: bytes, mapping: str):
        path = tmp_path / "file.pdf"
        path.write_bytes(pdf)
        return validated(convert(path, mapping, Limits(), engine=engine), mapping)

    return converted


def test_text_has_pages_and_their_lines(converted):
    root = converted(plain(["First line", "Second line"], [], ["Third page"]), "text")

    pages = [[line.text for line in page] for page in root]
    assert pages == [["First line", "Second line"], [], ["Third page"]]
    assert [page.get("number") for page in root] == ["1", "2", "3"]
    assert root.get("pages") == "3"


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_page_without_text_says_so(converted, mapping):
    root = converted(plain(["First line"], [], [" "]), mapping)

    assert [page.get("text") for page in root.iter("{*}page")] == [None, "none", "none"]


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_file_without_any_text_is_refused_with_the_reason(converted, mapping):
    with pytest.raises(Refused, match="has no text: its pages are blank or pictures") as caught:
        converted(plain([], []), mapping)

    assert caught.value.reason is Reason.NO_TEXT


def test_what_stands_on_one_height_is_one_line(converted):
    root = converted(THREE_FONTS, "text")

    assert texts(root, "line") == ["Invoice No. 17", "in plain words"]


def test_layout_says_where_and_in_which_font(converted):
    root = converted(THREE_FONTS, "layout")

    fonts = {font.get("id"): font for font in root.iter("{*}font")}
    shown = [
        (part.text, fonts[part.get("font")].get("family"), fonts[part.get("font")].get("size"))
        for part in root.iter("{*}fragment")
    ]
    assert shown == [
        ("Invoice", "Helvetica-Bold", "20"),
        ("No. 17", "Times-Italic", "12"),
        ("in plain words", "Helvetica", "12"),
    ]
    assert [(font.get("bold"), font.get("italic")) for font in fonts.values()] == [
        ("true", "false"),
        ("false", "true"),
        ("false", "false"),
    ]
    first, second, third = (
        {side: float(part.get(side)) for side in ("left", "top", "width", "height")}
        for part in root.iter("{*}fragment")
    )
    assert (first["left"], second["left"], third["left"]) == (72, 300, 72)
    # The baseline is 72 points below the top; what stands on it ends a little below.
    assert 72 - 20 <= first["top"] < 72 < first["top"] + first["height"] < 72 + 10
    assert third["top"] > second["top"]
    page = next(root.iter("{*}page"))
    assert (page.get("width"), page.get("height")) == ("612", "792")


def test_raw_says_which_engine_found_what(converted, engine):
    root = converted(THREE_FONTS, "raw")

    assert root.get("engine") == engine.value
    assert root.get("version")
    assert sorted(texts(root, "text")) == ["Invoice", "No. 17", "in plain words"]


def test_a_font_may_be_called_anything(converted, engine):
    named = HELVETICA.replace(b"/Helvetica", b"/A#22#3Cb#3E#26#3B#01")
    root = converted(document_of([text_at(b"(Hi)", 72, 720)], fonts=[named]), "raw")

    assert "".join(texts(root, "text")) == "Hi"
    # The engine that was asked, and not the one that steps in where poppler misspeaks.
    assert root.get("engine") == engine.value
    if engine is Engine.POPPLER:
        assert {text.get("font") for text in root.iter("{*}text")} == {'A"<b>&;'}


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_letters_of_any_script_are_kept(converted, mapping):
    written = "Grüße Ωж 漢字 🎉"
    root = converted(unicode_text(written), mapping)

    assert "".join(root.itertext()).strip() == written


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_markup_and_characters_that_xml_cannot_hold_do_no_harm(converted, mapping):
    root = converted(unicode_text("a]]>\u0001\u0008<b>&amp;\ufffe\ufffftail"), mapping)

    assert "".join(root.itertext()).replace("\ufffd", "").strip() == "a]]><b>&amp;tail"


@pytest.mark.parametrize(("mapping", "number"), [("text", 200), ("layout", 40), ("raw", 40)])
def test_many_pages_are_converted(converted, mapping, number):
    written = [f"Page {each}" for each in range(1, number + 1)]
    root = converted(plain(*[[line] for line in written]), mapping)

    pages = [page for page in root if page.tag.endswith("page")]
    assert ["".join(page.itertext()).strip() for page in pages] == written


def test_a_mapping_that_is_not_there_is_refused_before_the_file_is_looked_at(tmp_path):
    with pytest.raises(MappingUnknown) as refused:
        convert(tmp_path / "no such file.pdf", "pretty")

    assert str(refused.value) == "There is no mapping 'pretty'; there are text, layout, raw."


def test_the_engines_differ_where_the_readme_says_so(converted, engine):
    ligature = HELVETICA.replace(
        b"/Encoding /WinAnsiEncoding", b"/Encoding << /Type /Encoding /Differences [65 /fi] >>"
    )
    spelled = converted(document_of([text_at(b"(A)", 72, 720)], fonts=[ligature]), "text")
    sideways = b"q 0 1 -1 0 300 300 cm " + text_at(literal("turned"), 0, 0) + b" Q"
    turned = converted(document_of([sideways], fonts=[HELVETICA]), "text")

    if engine is Engine.POPPLER:
        assert (texts(spelled, "line"), texts(turned, "line")) == (["fi"], ["turned"])
    else:
        assert (texts(spelled, "line"), texts(turned, "line")) == (["ﬁ"], list("denrut"))
