"""A form with one file, parsed as it arrives: no more of it is in memory than one network read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

from anyio.from_thread import run as run_in_loop
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from grading.refusals import Flaw, ValidationRefused

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FIELD: Final = "file"
MAX_PARTS: Final = 8
MAX_OTHER_BYTES: Final = 2_048
"""How much a form may hold besides the file: boundaries, headers, other fields."""


class FileForm:
    """The field `file` of a multipart form.

    It is made in the event loop; `chunks` is called in a thread beside it.
    """

    def __init__(self, body: AsyncIterator[bytes], content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise _flaw("send the recording as multipart/form-data, with a boundary")
        self._body = body
        self._parts = _Parts()
        self._parser = MultipartParser(
            boundary, self._parts.callbacks(), max_header_size=MAX_OTHER_BYTES
        )

    def chunks(self) -> Iterator[bytes]:
        """Yield the content of the file, then read the form to its end."""
        while True:
            found = self._parts.take()
            if found:
                yield found
            if not run_in_loop(self._read):
                break
        if found := self._parts.take():
            yield found
        if not self._parts.has_file:
            raise _flaw("send the recording as the part `file` of the form")

    async def _read(self) -> bool:
        """Parse what arrives next; return False at the end."""
        try:
            async for chunk in self._body:
                if chunk:
                    self._parser.write(chunk)
                    return True
            self._parser.finalize()
        except FormParserError:
            raise _flaw("the form cannot be read; send it again") from None
        if not self._parts.is_complete:
            raise _flaw("the form ends too early; send it again")
        return False


class _Parts:
    """What the parser has found."""

    def __init__(self) -> None:
        self.has_file = False
        self.is_complete = False
        self._content: list[bytes] = []
        self._in_file = False
        self._count = 0
        self._other_bytes = 0
        self._name, self._value, self._disposition = b"", b"", b""

    def take(self) -> bytes:
        """Return the content since the last call."""
        found, self._content = b"".join(self._content), []
        return found

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._add_name,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._add_data,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._count += 1
        if self._count > MAX_PARTS:
            raise _flaw(f"a form has {MAX_PARTS} parts at most")
        self._in_file, self._disposition = False, b""

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name, self._value = b"", b""

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != FIELD.encode() or b"filename" not in options:
            return
        if self.has_file:
            raise _flaw("send one recording at a time")
        self.has_file = self._in_file = True

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._content.append(data[start:end])
            return
        self._other_bytes += end - start
        if self._other_bytes > MAX_OTHER_BYTES:
            raise _flaw("send nothing but the recording")

    def _end(self) -> None:
        self.is_complete = True


def _flaw(message: str) -> ValidationRefused:
    return ValidationRefused([Flaw(f"/{FIELD}", message)])
