"""Files that strangers send: what each is, and what has to become of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from apps.converter.tests.gateway import pdf_maker
from apps.converter.tests.gateway.pdf_maker import HELVETICA, Pdf, lines_down, plain, tree_node

CONVERTED = "converted"
MAX_PAGES = 200
MAX_XML_BYTES = 64 * 1024


@dataclass(frozen=True)
class Hostile:
    """A file, and the outcomes that are right; engines may see the same file differently."""

    make: Callable[[], bytes]
    outcomes: frozenset[str]


def one_page(pdf: Pdf, page_entries: bytes, *, content: int | None = None, catalog: bytes = b""):
    """Finish a file of one page with these entries."""
    root, tree, page = pdf.reserve(), pdf.reserve(), pdf.reserve()
    font = pdf.add(HELVETICA)
    shown = pdf.add_stream(lines_down(["Hello world"])) if content is None else content
    pdf.put(
        page,
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
        b" /Resources << /Font << /F1 %d 0 R >> >> %b >>" % (tree, shown, font, page_entries),
    )
    pdf.put(tree, tree_node([page]))
    pdf.put(root, b"<< /Type /Catalog /Pages %d 0 R %b >>" % (tree, catalog))
    return pdf.file(root)


def tree_in_a_circle() -> bytes:
    pdf = Pdf()
    root, tree, inner, page = (pdf.reserve() for _ in range(4))
    content = pdf.add_stream(lines_down(["Hello world"]))
    font = pdf.add(HELVETICA)
    pdf.put(
        page,
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
        b" /Resources << /Font << /F1 %d 0 R >> >> >>" % (inner, content, font),
    )
    pdf.put(inner, tree_node([page, tree], count=3, parent=tree))
    pdf.put(tree, tree_node([inner], count=3))
    pdf.put(root, b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
    return pdf.file(root)


def tree_of_itself() -> bytes:
    pdf = Pdf()
    tree = pdf.reserve()
    pdf.put(tree, tree_node([tree], count=1, parent=tree))
    return pdf.file(pdf.add(b"<< /Type /Catalog /Pages %d 0 R >>" % tree))


def deep_tree() -> bytes:
    pdf = Pdf()
    tree = pdf.reserve()
    last = tree
    for _ in range(5_000):
        following = pdf.reserve()
        pdf.put(last, tree_node([following], count=1, parent=last))
        last = following
    content = pdf.add_stream(lines_down(["Hello world"]))
    font = pdf.add(HELVETICA)
    pdf.put(
        last,
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
        b" /Resources << /Font << /F1 %d 0 R >> >> >>" % (tree, content, font),
    )
    return pdf.file(pdf.add(b"<< /Type /Catalog /Pages %d 0 R >>" % tree))


def outline_in_a_circle() -> bytes:
    pdf = Pdf()
    outlines, item = pdf.reserve(), pdf.reserve()
    pdf.put(outlines, b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count 1 >>" % (item, item))
    pdf.put(
        item,
        b"<< /Title (Again) /Parent %d 0 R /Next %d 0 R /First %d 0 R >>" % (outlines, item, item),
    )
    return one_page(pdf, b"", catalog=b"/Outlines %d 0 R" % outlines)


def deep_outlines() -> bytes:
    pdf = Pdf()
    outlines = last = pdf.reserve()
    for _ in range(20_000):
        following = pdf.reserve()
        pdf.put(last, b"<< /Title (Deep) /First %d 0 R /Last %d 0 R >>" % (following, following))
        last = following
    pdf.put(last, b"<< /Title (Deepest) >>")
    return one_page(pdf, b"", catalog=b"/Outlines %d 0 R" % outlines)


def form_that_draws_itself() -> bytes:
    pdf = Pdf()
    form = pdf.reserve()
    body = b"/X Do"
    pdf.put(
        form,
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 612 792] /Length %d"
        b" /Resources << /XObject << /X %d 0 R >> >> >>\nstream\n%b\nendstream"
        % (len(body), form, body),
    )
    content = pdf.add_stream(b"/X Do")
    page = b"/Resources << /XObject << /X %d 0 R >> >>" % form
    return one_page(pdf, page, content=content)


def forms_that_multiply() -> bytes:
    """Forms that draw the next one ten times: a page that shows its text 10^12 times."""
    pdf = Pdf()
    font = pdf.add(HELVETICA)
    drawn = pdf.add_stream(
        lines_down(["ha"]),
        b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
        b" /Resources << /Font << /F1 %d 0 R >> >>" % font,
    )
    for _ in range(12):
        drawn = pdf.add_stream(
            b"/X Do " * 10,
            b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
            b" /Resources << /XObject << /X %d 0 R >> >>" % drawn,
        )
    root, tree = pdf.reserve(), pdf.reserve()
    page = pdf.add(
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
        b" /Resources << /XObject << /X %d 0 R >> >> >>" % (tree, pdf.add_stream(b"/X Do"), drawn)
    )
    pdf.put(tree, tree_node([page]))
    pdf.put(root, b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
    return pdf.file(root)


def flate_bomb(*, mebibytes: int) -> bytes:
    """Return a page whose content unpacks twice to that many MiB of white space."""
    return _bomb_page(zlib.compress(_repeated(_block(b" " * 2**20), mebibytes)), filters=2)


def nested_flate_bomb() -> bytes:
    """Return a page whose content unpacks three times to 4 TiB."""
    block = _block(b" " * 2**20)
    many = _block(block * 4096)
    packed = b"\x78\x9c" + _block(b"\x78\x9c") + many * 1024 + b"\x03\x00"
    return _bomb_page(zlib.compress(packed), filters=3)


def _block(content: bytes) -> bytes:
    """Return content as a piece of a deflated stream that may be repeated."""
    packing = zlib.compressobj(9, wbits=-15)
    return packing.compress(content) + packing.flush(zlib.Z_FULL_FLUSH)


def _repeated(block: bytes, times: int) -> bytes:
    return b"\x78\x9c" + block * times + b"\x03\x00"


def _bomb_page(packed: bytes, *, filters: int) -> bytes:
    pdf = Pdf()
    content = pdf.add_stream(packed, b"/Filter [%b]" % (b"/FlateDecode " * filters))
    return one_page(pdf, b"", content=content)


def laughing_metadata() -> bytes:
    laughs = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    xmp = (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{laughs}'
        '<!ENTITY secret SYSTEM "file:///etc/passwd">]><x>&l9;&secret;</x>'
    )
    pdf = Pdf()
    metadata = pdf.add_stream(xmp.encode(), b"/Type /Metadata /Subtype /XML")
    return one_page(pdf, b"/Metadata %d 0 R" % metadata, catalog=b"/Metadata %d 0 R" % metadata)


def length_of_itself() -> bytes:
    pdf = Pdf()
    stream = pdf.reserve()
    pdf.put(stream, b"<< /Length %d 0 R >>\nstream\nBT ET\nendstream" % stream)
    return one_page(pdf, b"", content=stream)


def table_in_a_circle() -> bytes:
    made = plain()
    table = made.rindex(b"xref\n0 ")
    return made.replace(b"/Root", b"/Prev %d /Root" % table)


def wrong_count() -> bytes:
    return plain().replace(b"/Count 1", b"/Count 2000000000")


def nested_arrays() -> bytes:
    pdf = Pdf()
    deep = pdf.add(b"[" * 100_000 + b"]" * 100_000)
    return one_page(pdf, b"/Annots %d 0 R" % deep)


def page_of_size(side: bytes) -> bytes:
    return plain().replace(b"[0 0 612 792]", b"[0 0 %b %b]" % (side, side))


def much_text() -> bytes:
    return plain(*[["x&<" * 30] * 30] * 12)


def font_that_breaks_out() -> bytes:
    broken_out = b"/Helvetica#22#2F#3E#0A#3Ctext#3E#5D#5D#3E#26#01"
    return pdf_maker.document_of(
        [lines_down(["Hello world"])], fonts=[HELVETICA.replace(b"/Helvetica", broken_out)]
    )


def _hostile(make: Callable[[], bytes], *outcomes: str) -> Hostile:
    return Hostile(make, frozenset(outcomes))


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!doctype html><script>alert(1)</script>"

HOSTILE_FILES = {
    "nothing": _hostile(lambda: b"", "not_a_pdf"),
    "svg": _hostile(lambda: SVG, "not_a_pdf"),
    "html": _hostile(lambda: HTML, "not_a_pdf"),
    "html with a pdf behind it": _hostile(lambda: HTML + plain(), "not_a_pdf"),
    "only a head": _hostile(lambda: b"%PDF-1.7\n", "pdf_truncated"),
    "cut in half": _hostile(lambda: plain()[: len(plain()) // 2], "pdf_truncated"),
    "no end marker": _hostile(lambda: plain().removesuffix(b"%%EOF\n"), CONVERTED),
    "noise": _hostile(
        lambda: b"%PDF-1.7\n" + bytes(range(256)) * 400 + b"startxref\n9\n%%EOF\n", "pdf_broken"
    ),
    "password": _hostile(pdf_maker.needs_a_password, "pdf_encrypted"),
    "not to be copied": _hostile(pdf_maker.may_not_be_copied, "pdf_protected"),
    "tree in a circle": _hostile(tree_in_a_circle, "pdf_cyclic"),
    "tree of itself": _hostile(tree_of_itself, "pdf_cyclic", "pdf_broken"),
    "deep tree": _hostile(deep_tree, "pdf_broken", CONVERTED),
    "outline in a circle": _hostile(outline_in_a_circle, CONVERTED),
    "deep outlines": _hostile(deep_outlines, CONVERTED, "too_costly"),
    "form that draws itself": _hostile(form_that_draws_itself, CONVERTED, "pdf_broken", "no_text"),
    "forms that multiply": _hostile(forms_that_multiply, "too_costly"),
    "flate bomb": _hostile(lambda: flate_bomb(mebibytes=4096), "too_costly"),
    "nested flate bomb": _hostile(nested_flate_bomb, "too_costly"),
    "metadata that laughs": _hostile(laughing_metadata, CONVERTED),
    "length of itself": _hostile(length_of_itself, CONVERTED, "pdf_broken", "no_text"),
    "table in a circle": _hostile(table_in_a_circle, CONVERTED, "pdf_broken"),
    "wrong count": _hostile(wrong_count, CONVERTED, "pdf_broken"),
    "nested arrays": _hostile(nested_arrays, CONVERTED, "pdf_broken"),
    "huge page": _hostile(lambda: page_of_size(b"1" + b"0" * 30), "page_size_impossible"),
    "endless page": _hostile(
        lambda: page_of_size(b"9" * 400), "page_size_impossible", "pdf_broken"
    ),
    "too many pages": _hostile(lambda: plain(*[["Page"]] * (MAX_PAGES + 1)), "too_many_pages"),
    "much text": _hostile(much_text, "result_too_large"),
    "font that breaks out": _hostile(font_that_breaks_out, CONVERTED),
}
