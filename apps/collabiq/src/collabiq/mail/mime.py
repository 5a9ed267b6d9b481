"""The parts that a mail is made of, within limits."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from collabiq.mail.charsets import decoded
from collabiq.mail.headers import MAX_BLOCK_BYTES, Headers, unbased
from collabiq.mail.text import one_line, plain

MAX_DEPTH: Final = 20
MAX_PARTS: Final = 500
_MAX_FILE_NAME: Final = 255
_MAX_TRAILING: Final = 200
_BLANK: Final = re.compile(rb"\r?\n\r?\n|\r\r")
_FIELD_NAME: Final = re.compile(rb"[!-9;-~]{1,200}[ \t]*:|From ")


@dataclass(slots=True)
class Budget:
    """How many parts may still be read, and which limits were met."""

    parts: int = MAX_PARTS
    met: set[str] = field(default_factory=set)

    def takes(self, *, depth: int) -> bool:
        """Return whether a part at this depth is read, and count it."""
        if depth > MAX_DEPTH:
            self.met.add("depth")
        elif self.parts <= 0:
            self.met.add("parts")
        else:
            self.parts -= 1
            return True
        return False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a mail, or all of it: its fields, its body as sent, and the parts in it.

    The body is a place in the mail: parts within parts do not multiply what is in memory.
    """

    mail: bytes
    start: int
    end: int
    headers: Headers
    media_type: str
    parameters: dict[str, str]
    parts: Sequence[Part] = ()

    @property
    def body(self) -> bytes:
        """As it was sent."""
        return self.mail[self.start : self.end]

    @property
    def encoding(self) -> str:
        """How the body was made fit for transport."""
        return self.headers.raw("content-transfer-encoding").strip().lower()

    @property
    def file_name(self) -> str:
        """What the sender calls it, or nothing; never a path."""
        _, parameters = self.headers.disposition()
        said = parameters.get("filename") or self.parameters.get("name") or ""
        return one_line(said.replace("\\", "/").rpartition("/")[2], limit=_MAX_FILE_NAME)

    @property
    def is_attachment(self) -> bool:
        """Whether it is meant as a file, by its disposition or its name."""
        disposition, _ = self.headers.disposition()
        if disposition == "attachment":
            return True
        return bool(self.file_name) and not self.media_type.startswith(("multipart/", "message/"))

    @property
    def size_bytes(self) -> int:
        """How large it is once decoded, without decoding it."""
        mail, start, end = self.mail, self.start, self.end
        if self.encoding != "base64":
            return end - start
        ignored = sum(mail.count(each, start, end) for each in (b"\r", b"\n", b" ", b"\t", b"="))
        return (end - start - ignored) * 3 // 4

    def content(self) -> bytes:
        """Return the body as the sender had it."""
        match self.encoding:
            case "base64":
                return unbased(self.body)
            case "quoted-printable":
                return quopri.decodestring(self.body)
            case _:
                return self.body

    def text(self) -> str:
        """Return the body as text."""
        return plain(decoded(self.content(), declared=self.parameters.get("charset")))


def part_of(
    mail: bytes,
    *,
    budget: Budget,
    start: int = 0,
    end: int | None = None,
    depth: int = 0,
    usual: str = "text/plain",
) -> Part:
    """Return the part at a place with all that is in it, as far as the limits go."""
    end = len(mail) if end is None else end
    block, start = _header(mail, start, end)
    headers = Headers(block)
    media_type, parameters = headers.content_type()
    if "/" not in media_type:
        media_type = usual
    parts: list[Part] = []
    boundary = parameters.get("boundary", "")
    is_multipart = media_type.startswith("multipart/")
    if is_multipart and boundary:
        inner = "message/rfc822" if media_type == "multipart/digest" else "text/plain"
        mark = b"--" + boundary.encode("utf-8", "replace")
        for first, last in _pieces(mail, start, end, mark=mark):
            if not budget.takes(depth=depth + 1):
                break
            parts.append(
                part_of(mail, budget=budget, start=first, end=last, depth=depth + 1, usual=inner)
            )
    if is_multipart and not parts and not budget.met:
        media_type = "text/plain"  # it says that it has parts, and has none
    return Part(mail, start, end, headers, media_type, parameters, parts)


def _header(mail: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Return the header and where the body begins; what begins with no field is all body."""
    if mail.startswith(b"\r\n", start, end):
        return b"", start + 2
    if mail.startswith(b"\n", start, end):
        return b"", start + 1
    if _FIELD_NAME.match(mail, start, end) is None:
        return b"", start
    blank = _BLANK.search(mail, start, end)
    if blank is None:
        return mail[start : min(end, start + MAX_BLOCK_BYTES)], end
    return mail[start : min(blank.start(), start + MAX_BLOCK_BYTES)] + b"\n\n", blank.end()


def _pieces(mail: bytes, start: int, end: int, *, mark: bytes) -> Iterator[tuple[int, int]]:
    """Yield the places between the lines of a boundary; without a last one, up to the end."""
    at, begun = start, -1
    while (line := mail.find(mark, at, end)) >= 0:
        at = line + len(mark)
        if line > start and mail[line - 1 : line] not in {b"\n", b"\r"}:
            continue
        stop = mail.find(b"\n", at, min(end, at + _MAX_TRAILING))
        stop = stop if stop >= 0 else min(end, at + _MAX_TRAILING)
        rest = mail[at:stop].strip()
        if rest not in {b"", b"--"}:  # the line of a longer boundary
            continue
        if begun >= 0:
            yield begun, _before_line_end(mail, begun, line)
        if rest:
            return
        begun = at = min(stop + 1, end)
    if begun >= 0:
        yield begun, end


def _before_line_end(mail: bytes, start: int, end: int) -> int:
    for line_end in (b"\r\n", b"\n", b"\r"):
        if mail.endswith(line_end, start, end):
            return end - len(line_end)
    return end
