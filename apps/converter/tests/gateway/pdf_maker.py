"""PDF files made by hand: the smallest ones that are right, to be made wrong by tests."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence

PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
"""What the standard handler fills passwords up with."""
HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
LETTER = (612, 792)


class Pdf:
    """Objects numbered as they are added, and the file they make."""

    def __init__(self) -> None:
        self.objects: list[bytes] = []

    def reserve(self) -> int:
        """Take a number for an object that is written later, with `put`."""
        self.objects.append(b"null")
        return len(self.objects)

    def put(self, number: int, body: bytes) -> int:
        self.objects[number - 1] = body
        return number

    def add(self, body: bytes) -> int:
        return self.put(self.reserve(), body)

    def add_stream(self, stored: bytes, entries: bytes = b"") -> int:
        head = b"<< /Length %d %b >>" % (len(stored), entries)
        return self.add(head + b"\nstream\n" + stored + b"\nendstream")

    def file(self, root: int, trailer: bytes = b"") -> bytes:
        made = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        starts = []
        for number, body in enumerate(self.objects, 1):
            starts.append(len(made))
            made += b"%d 0 obj\n%b\nendobj\n" % (number, body)
        table = len(made)
        size = len(self.objects) + 1
        made += b"xref\n0 %d\n0000000000 65535 f \n" % size
        made += b"".join(b"%010d 00000 n \n" % start for start in starts)
        made += b"trailer\n<< /Size %d /Root %d 0 R %b >>\n" % (size, root, trailer)
        return bytes(made) + b"startxref\n%d\n%%%%EOF\n" % table


def text_at(text: bytes, left: float, up: float, *, font: str = "F1", size: float = 12) -> bytes:
    """Operators that show a text; `text` is a string of PDF, with its brackets."""
    return b"BT /%b %g Tf %g %g Td %b Tj ET\n" % (font.encode(), size, left, up, text)


def literal(text: str) -> bytes:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"(" + escaped.encode("cp1252") + b")"


def lines_down(lines: Iterable[str]) -> bytes:
    """Operators that show lines one below the other."""
    return b"".join(text_at(literal(line), 72, 720 - 20 * row) for row, line in enumerate(lines))


def document_of(
    contents: Sequence[bytes],
    *,
    fonts: Sequence[bytes] = (HELVETICA,),
    box: tuple[float, float] = LETTER,
    catalog: bytes = b"",
    trailer: bytes = b"",
) -> bytes:
    """Return a file with a page for each content; the fonts are F1, F2 and so on."""
    pdf = Pdf()
    root, tree = pdf.reserve(), pdf.reserve()
    named = b" ".join(
        b"/F%d %d 0 R" % (place, pdf.add(font)) for place, font in enumerate(fonts, 1)
    )
    kids = [
        pdf.add(
            b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R"
            b" /Resources << /Font << %b >> >> >>"
            % (tree, *map(int, box), pdf.add_stream(content), named)
        )
        for content in contents
    ]
    pdf.put(tree, tree_node(kids))
    pdf.put(root, b"<< /Type /Catalog /Pages %d 0 R %b >>" % (tree, catalog))
    return pdf.file(root, trailer)


def tree_node(kids: Sequence[int], *, count: int | None = None, parent: int | None = None) -> bytes:
    above = b"" if parent is None else b"/Parent %d 0 R" % parent
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    counted = len(kids) if count is None else count
    return b"<< /Type /Pages /Kids [%b] /Count %d %b >>" % (listed, counted, above)


def plain(*pages: Sequence[str]) -> bytes:
    """Return a file with these lines on its pages."""
    return document_of([lines_down(lines) for lines in pages or [["Hello world"]]])


def flated(content: bytes, *, times: int = 1) -> bytes:
    for _ in range(times):
        content = zlib.compress(content, 9)
    return content


def unicode_text(text: str) -> bytes:
    """Return a file that shows a text by glyph numbers, with a table of what they mean."""
    pdf = Pdf()
    root, tree, page = pdf.reserve(), pdf.reserve(), pdf.reserve()
    meanings = b"\n".join(
        b"<%04x> <%b>" % (glyph, letter.encode("utf-16-be").hex().encode())
        for glyph, letter in enumerate(text, 1)
    )
    table = pdf.add_stream(
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        b"/CMapName /Meanings def /CMapType 2 def\n"
        b"1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        b"%d beginbfchar\n%b\nendbfchar\nendcmap end end\n" % (len(text), meanings)
    )
    glyphs = pdf.add(
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Arial /DW 600"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
    )
    font = pdf.add(
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Arial /Encoding /Identity-H"
        b" /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>" % (glyphs, table)
    )
    shown = b"".join(b"%04x" % glyph for glyph in range(1, len(text) + 1))
    content = pdf.add_stream(text_at(b"<" + shown + b">", 72, 720))
    pdf.put(
        page,
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
        b" /Resources << /Font << /F1 %d 0 R >> >> >>" % (tree, content, font),
    )
    pdf.put(tree, tree_node([page]))
    pdf.put(root, b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
    return pdf.file(root)


def needs_a_password() -> bytes:
    """Return a file whose password nobody knows."""
    return document_of([lines_down(["Secret"])], trailer=_encryption(b"\x01" * 32, allowed=-4))


def may_not_be_copied() -> bytes:
    """Return a file that opens without a password and whose author forbids copying from it."""
    allowed = -64
    key = hashlib.md5(
        PADDING + b"o" * 32 + allowed.to_bytes(4, "little", signed=True) + b"i" * 16
    ).digest()[:5]
    return document_of([b""], trailer=_encryption(_rc4(key, PADDING), allowed=allowed))


def _encryption(user: bytes, *, allowed: int) -> bytes:
    return b"/ID [<%b> <%b>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <%b> /U <%b> /P %d >>" % (
        (b"i" * 16).hex().encode(),
        (b"i" * 16).hex().encode(),
        (b"o" * 32).hex().encode(),
        user.hex().encode(),
        allowed,
    )


def _rc4(key: bytes, plain_bytes: bytes) -> bytes:
    box = list(range(256))
    mixed = 0
    for place in range(256):
        mixed = (mixed + box[place] + key[place % len(key)]) % 256
        box[place], box[mixed] = box[mixed], box[place]
    made = bytearray()
    first = second = 0
    for byte in plain_bytes:
        first = (first + 1) % 256
        second = (second + box[first]) % 256
        box[first], box[second] = box[second], box[first]
        made.append(byte ^ box[(box[first] + box[second]) % 256])
    return bytes(made)
