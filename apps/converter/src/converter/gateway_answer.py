"""The head of an HTTP/1.1 answer, read strictly, and how the body after it is distinguished.

A connection is used again only after an answer whose end was certain, so whatever could be read in
two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_HEADERS: Final = 100
MAX_HEAD_BYTES: Final = 64 * 1024
HEAD_END: Final = b"\r\n\r\n"
_STATUS: Final = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
_HEADER: Final = re.compile(
    r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*"
    r"[\x21-\x7e\x80-\xff])?)?)[\t ]*"
)
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?")
_WITHOUT_BODY: Final = frozenset({204, 304})
_INFORMATION: Final = range(102, 200)
_CONTINUE: Final = 100


class BadAnswer(Exception):
    """What came is no answer of HTTP/1.1 that can be read in one way only."""


@dataclass(frozen=True, slots=True)
class Head:
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case; of several alike, joined by commas."""
    length: int | None
    """How many bytes the body has; None when the body says itself where it ends."""
    chunked: bool
    keeps: bool
    """Whether the connection may be used again after the body."""

    @property
    def is_final(self) -> bool:
        """Whether it is the answer, and not word that one is to come."""
        return self.status != _CONTINUE and self.status not in _INFORMATION


def head_of(received: bytes) -> Head:
    """Read a head, without the empty line at its end, or raise `BadAnswer`."""
    first, *lines = received.decode("latin-1").split("\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise BadAnswer("it does not begin like HTTP/1.1")
    if len(lines) > MAX_HEADERS:
        raise BadAnswer(f"it has more than {MAX_HEADERS} headers")
    headers: dict[str, str] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise BadAnswer("it has a header that is none")
        name, value = found[1].lower(), found[2]
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return _framed(int(status[2]), headers, old=status[1] == "0")


def chunk_length(line: bytes) -> int:
    """Return how long the chunk is that a line announces, or raise `BadAnswer`."""
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise BadAnswer("it has a chunk without a length")
    return int(found[1], 16)


def _framed(status: int, headers: Mapping[str, str], *, old: bool) -> Head:
    connection = headers.get("connection", "").lower()
    keeps = not old and "close" not in connection and "upgrade" not in connection
    chunked = "transfer-encoding" in headers
    said = headers.get("content-length")
    if chunked and (old or said is not None or headers["transfer-encoding"].lower() != "chunked"):
        raise BadAnswer("nobody can tell where it ends")
    length = None if said is None else _length_of(said)
    if status in _WITHOUT_BODY:
        return Head(status, headers, 0, chunked=False, keeps=keeps and not chunked)
    return Head(
        status, headers, length, chunked=chunked, keeps=keeps and (chunked or length is not None)
    )


def _length_of(said: str) -> int:
    length, *others = {each.strip() for each in said.split(",")}
    if others or not _LENGTH.fullmatch(length):
        raise BadAnswer("it has no length that can be")
    return int(length)
