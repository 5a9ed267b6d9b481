"""What a file is called, and whether it is a PDF at all."""

import pytest

from converter.limits import TooLarge, limited
from converter.payload import MAX_FILENAME, plain_filename, xml_filename
from converter.pdf_check import NotPdf, checked_pdf


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("invoice 2031.pdf", "invoice 2031.pdf"),
        ("Größe (neu).pdf", "Größe (neu).pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\a.pdf", "a.pdf"),
        ("a\r\nSet-Cookie: x.pdf", "a__Set-Cookie_ x.pdf"),
        ('"><script>.pdf', "___script_.pdf"),
        ("a\x00b.pdf", "a_b.pdf"),
        ("..", "document.pdf"),
        ("", "document.pdf"),
        ("/", "document.pdf"),
        (".pdf", "pdf"),
    ],
)
def test_of_what_a_file_was_called_only_what_is_harmless_is_kept(given, shown):
    assert plain_filename(given) == shown


def test_a_long_name_keeps_its_ending():
    name = plain_filename("x" * 1_000 + ".pdf")

    assert len(name) == MAX_FILENAME
    assert name.endswith("x.pdf")


@pytest.mark.parametrize(
    ("name", "saved"), [("a.pdf", "a.xml"), ("a.PDF", "a.xml"), ("a.b", "a.b.xml"), ("a", "a.xml")]
)
def test_xml_is_saved_under_the_name_of_its_pdf(name, saved):
    assert xml_filename(name) == saved


@pytest.mark.parametrize(
    "chunks",
    [
        [b"%PDF-1.4 and more"],
        [b"%P", b"DF", b"-1.4"],
        [b"\xef\xbb\xbf%PDF-2.0"],
        [b"\r\n\0" * 100, b"%PDF-2.0"],
        [b" " * 1019, b"%PDF-2.0"],
    ],
)
def test_a_file_that_begins_like_a_pdf_is_passed_on_whole(chunks):
    assert b"".join(checked_pdf(chunks)) == b"".join(chunks)


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [b""],
        [b"%PD"],
        [b"<svg/>"] * 500,
        [b"<html></html>", b"%PDF-1.4"],
        [b" " * 1020, b"%PDF-1.4"],
    ],
)
def test_a_file_that_does_not_is_refused_before_anything_is_passed_on(chunks):
    with pytest.raises(NotPdf):
        next(checked_pdf(chunks))


def test_chunks_are_counted_as_they_come():
    chunks = limited(iter([b"12", b"34", b"5", b"never"]), 4)

    assert (next(chunks), next(chunks)) == (b"12", b"34")
    with pytest.raises(TooLarge):
        next(chunks)
