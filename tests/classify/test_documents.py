"""Documents and recordings that cannot be read, with the libraries that read them."""

import io
import wave

import pdfminer.high_level
import pdfminer.pdfdocument
import pdfminer.psexceptions
import pypdf
import pypdf.errors
import pytest

from tests.classify import rows
from tests.classify.rows import caught, row_of


def pdf(*, password=None):
    writer = pypdf.PdfWriter()
    writer.add_blank_page(72, 72)
    if password is not None:
        writer.encrypt(password)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def read_with_pdfminer(data, password=""):
    return pdfminer.high_level.extract_text(io.BytesIO(data), password=password)


def read_with_pypdf(data):
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data), strict=True).pages]


BROKEN = {
    "empty": b"",
    "no pdf": b"<html>not a pdf</html>",
    "cut off": pdf()[:60],
}


@pytest.mark.parametrize("read", [read_with_pdfminer, read_with_pypdf])
def test_a_good_document_is_read(read):
    assert read(pdf()) is not None


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("read", [read_with_pdfminer, read_with_pypdf])
def test_a_broken_document(read, data):
    error = caught(read, data)

    assert isinstance(error, pdfminer.psexceptions.PSException | pypdf.errors.PyPdfError)
    assert row_of(error) == rows.INVALID


@pytest.mark.parametrize("read", [read_with_pdfminer, read_with_pypdf])
def test_a_document_with_a_password(read):
    error = caught(read, pdf(password="secret"))

    assert isinstance(
        error, pdfminer.pdfdocument.PDFPasswordIncorrect | pypdf.errors.FileNotDecryptedError
    )
    assert row_of(error) == rows.INVALID


def test_a_password_that_is_wrong():
    data = pdf(password="secret")

    error = caught(read_with_pdfminer, data, password="guess")

    assert row_of(error) == rows.INVALID


def test_a_missing_piece_of_a_pdf_reader_is_not_the_documents_fault():
    assert row_of(pypdf.errors.DependencyError("install it")) == rows.MISCONFIGURED


@pytest.mark.parametrize("data", [b"", b"RIFF"], ids=["empty", "cut off"])
def test_a_recording_that_ends_too_early(data):
    error = caught(wave.open, io.BytesIO(data))

    assert type(error) is EOFError
    assert row_of(error) == rows.INVALID


def test_an_input_that_ends_elsewhere_is_a_bug():
    assert row_of(EOFError("EOF when reading a line")) == rows.BUG


@pytest.mark.parametrize("data", [b"RIFF\x24\0\0\0JUNK" + b"\0" * 30, b"\xff\xfb\x90\x44" * 30])
def test_a_recording_that_cannot_be_decoded(data):
    error = caught(wave.open, io.BytesIO(data))

    assert isinstance(error, wave.Error)
    assert row_of(error) == rows.INVALID
