"""A form, read as it comes."""

import anyio
import pytest
from anyio import to_thread

from converter.http.upload_form import MAX_FIELD_BYTES, MAX_PARTS, BadForm, UploadForm

TYPE = "multipart/form-data; boundary=b"


def part(name, value, *, filename=None):
    told = f'; filename="{filename}"' if filename is not None else ""
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"{told}\r\n\r\n'
    return head.encode() + value + b"\r\n"


END = b"--b--\r\n"
FILE = part("file", b"%PDF-1.7 body", filename="a.pdf")
MAPPING = part("mapping", b"layout")


def read(body, *, step, content_type=TYPE):
    """Return the name, the mapping and the bytes of a form's file."""
    form, chunks = parsed(body, step=step, content_type=content_type)
    return form.filename, form.mapping, chunks


def parsed(body, *, step, content_type=TYPE, **given):
    async def pieces():
        for start in range(0, len(body), step):
            yield body[start : start + step]

    async def main():
        form = UploadForm(pieces(), content_type, **given)
        await form.begin()
        chunks = await to_thread.run_sync(lambda: list(form.chunks()))
        return form, b"".join(chunks)

    return anyio.run(main)


@pytest.mark.parametrize("step", [1, 3, 7, 1_000])
@pytest.mark.parametrize("body", [MAPPING + FILE + END, FILE + MAPPING + END])
def test_the_file_and_its_mapping_are_read_however_the_body_is_cut(body, step):
    assert read(body, step=step) == ("a.pdf", "layout", b"%PDF-1.7 body")


def test_a_form_without_a_mapping_has_none():
    assert read(FILE + END, step=10) == ("a.pdf", "", b"%PDF-1.7 body")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        END,
        MAPPING + END,
        b"not a form at all",
        MAPPING + FILE,
        (MAPPING + FILE)[:-8],
        FILE + part("file", b"another", filename="b.pdf") + END,
        part("x", b"1") * (MAX_PARTS + 1) + FILE + END,
        part("mapping", b"x" * (MAX_FIELD_BYTES + 1)) + FILE + END,
        part("x" * 10_000, b"1") + FILE + END,
    ],
)
def test_what_is_no_such_form_is_refused(body):
    with pytest.raises(BadForm):
        read(body, step=100)


@pytest.mark.parametrize("kind", ["", "application/pdf", "multipart/form-data", "multipart/mixed"])
def test_another_type_of_body_is_refused(kind):
    with pytest.raises(BadForm):
        read(FILE + END, step=100, content_type=kind)


CALLBACK = part("callback_url", b" https://example.org/hook ")
PRIORITY = part("priority", b"LOW")


@pytest.mark.parametrize(
    "body", [CALLBACK + PRIORITY + FILE + END, FILE + PRIORITY + CALLBACK + END]
)
def test_a_callback_and_a_priority_may_come_before_or_after_the_file(body):
    form, _ = parsed(body, step=5)

    assert (form.callback_url, form.priority) == ("https://example.org/hook", "low")


def test_a_callback_may_be_given_beside_the_form():
    form, _ = parsed(FILE + END, step=5, callback_url=" https://example.org/hook")
    same, _ = parsed(CALLBACK + FILE + END, step=5, callback_url="https://example.org/hook")

    assert form.callback_url == same.callback_url == "https://example.org/hook"
    assert (form.priority, parsed(FILE + END, step=5)[0].callback_url) == ("", "")
