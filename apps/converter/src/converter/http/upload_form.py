"""A multipart form with one file, read as it comes: no more of it is in memory than one chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

from anyio.from_thread import run as run_in_loop
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from converter.sending import PRIORITIES

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MAX_PARTS: Final = 8
MAX_FIELD_BYTES: Final = 1_000
MAX_HEAD_BYTES: Final = 4_096
_FORM: Final = b"multipart/form-data"


class BadForm(Exception):
    """The body is not a form that can be read, and says so in its own words."""


class UploadForm:
    """A form with a field `mapping` and a file `file`, in any order.

    It may have the fields `callback_url` and `priority`; a `callback_url` may also be given beside
    it. It is made in the event loop, where `begin` reads as far as the file; a thread takes the
    rest.
    """

    def __init__(
        self, body: AsyncIterator[bytes], content_type: str, *, callback_url: str = ""
    ) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != _FORM or not boundary:
            raise BadForm("send the file as multipart/form-data, with a boundary")
        self.filename = ""
        self._callback_url = callback_url.strip()
        self._body = body
        self._events = _Events()
        self._parser = MultipartParser(
            boundary, self._events.callbacks(), max_header_size=MAX_HEAD_BYTES
        )
        self._is_over = False

    @property
    def mapping(self) -> str:
        """What the file is to become, once all chunks were taken; empty when nobody said."""
        return self._field("mapping")

    @property
    def callback_url(self) -> str:
        """Where a webhook goes to when the conversion has ended, or raise `BadForm` for two."""
        named = self._field("callback_url").strip()
        if named and self._callback_url not in ("", named):
            raise BadForm("the form and the header X-Callback-Url name different callbacks")
        return named or self._callback_url

    @property
    def priority(self) -> str:
        """How soon it is to be converted, or raise `BadForm` for what is no priority."""
        named = self._field("priority").strip().lower()
        if named and named not in PRIORITIES:
            raise BadForm(f"priority has to be one of {', '.join(PRIORITIES)}")
        return named

    def _field(self, name: str) -> str:
        return self._events.fields.get(name, b"").decode("utf-8", "replace")

    async def begin(self) -> None:
        """Read as far as the file, or raise `BadForm` when there is none."""
        while not self._events.has_file and await self._read():
            pass
        if not self._events.has_file:
            raise BadForm("the form has no file; send one as the part `file`")
        self.filename = self._events.filename

    def chunks(self) -> Iterator[bytes]:
        """Yield the file as it comes, in a thread beside the event loop; then read the rest."""
        while True:
            while self._events.chunks:
                yield self._events.chunks.popleft()
            if not run_in_loop(self._read):
                return

    async def _read(self) -> bool:
        """Parse the next part of the body; False when there is no more."""
        if self._is_over:
            return False
        try:
            chunk = await anext(self._body, b"")
            if chunk:
                self._parser.write(chunk)
                return True
            self._is_over = True
            self._parser.finalize()
        except FormParserError as error:
            raise BadForm("the form cannot be read; send it again") from error
        if not self._events.is_complete:
            raise BadForm("the form ends too early; send it again")
        return False


class _Events:
    """What the parser has come across."""

    def __init__(self) -> None:
        self.fields: dict[str, bytes] = {}
        self.chunks: deque[bytes] = deque()
        self.has_file = False
        self.filename = ""
        self.is_complete = False
        self._parts = 0
        self._in_file = False
        self._name = ""
        self._header, self._value, self._disposition = b"", b"", b""

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin_part,
            "on_header_field": self._on_header_name,
            "on_header_value": self._on_header_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_head,
            "on_part_data": self._on_data,
            "on_end": self._end,
        }

    def _begin_part(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise BadForm(f"the form has more than {MAX_PARTS} parts")
        self._disposition = b""
        self._in_file = False

    def _on_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _end_head(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        filename = options.get(b"filename")
        if filename is None:
            self.fields[self._name] = b""
            return
        if self.has_file:
            raise BadForm("the form has more than one file; send one at a time")
        self.has_file = self._in_file = True
        self.filename = filename.decode("utf-8", "replace")

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self.chunks.append(data[start:end])
            return
        value = self.fields[self._name] + data[start:end]
        if len(value) > MAX_FIELD_BYTES:
            raise BadForm(f"a field has more than {MAX_FIELD_BYTES} bytes")
        self.fields[self._name] = value

    def _end(self) -> None:
        self.is_complete = True
