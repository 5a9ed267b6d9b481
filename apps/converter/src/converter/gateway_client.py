"""Calls the gateway, any that speaks HTTP: PDF out, XML in."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol
from urllib.parse import quote

from converter.gateway.xml_check import XmlCheck, XmlRefused
from converter.gateway_answer import BadAnswer
from converter.gateway_connection import Patience
from converter.gateway_failures import (
    MAX_SAID_BYTES,
    GatewayFailed,
    away,
    cut_off,
    mapping_refused,
    oversized,
    refusal,
    timed_out,
    unusable,
)
from converter.gateway_wire import Answer, Wire
from converter.storage.errors import StorageFailed

PROBE_TIMEOUT_S: Final = 5.0
DEFAULT_IDLE_S: Final = 30.0
DEFAULT_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_SAYING_S: Final = 2.0
"""For how long it is listened to why a gateway refuses; its status is enough."""
_MAX_MAPPING_LENGTH: Final = 100
_OK: Final = 200
_SUCCESSES: Final = range(200, 300)
_PLAIN: Final = frozenset({"", "identity"})


class Attempt(Protocol):
    """What a call has to know of the job it is made for."""

    @property
    def trace_headers(self) -> Mapping[str, str]:
        """The headers by which a call carries the job's trace on."""


class Source(Protocol):
    """A PDF, to be sent once."""

    @property
    def size(self) -> int:
        """How many bytes there are in all."""

    @property
    def whole(self) -> bytes | None:
        """All of it, where it is at hand and nothing was read."""

    async def read(self) -> bytes:
        """Return the next bytes; nothing at the end."""


class Sink(Protocol):
    """Where XML goes as it comes."""

    async def write(self, chunk: bytes) -> None:
        """Append some bytes."""


class GatewayClient:
    """The gateway at one address, which `converter.gateway_address.checked_url` has checked.

    A call takes `timeout_s` at most, and no longer than `idle_s` without a byte once the answer
    has begun. An answer has `max_answer_bytes` at most. Any number of event loops may use one
    client. Whom to trust under HTTPS the system says, unless `tls` does. With `holds` a call that
    fails while the gateway's `/health` fails as well spends no attempt of its file.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float,
        idle_s: float = DEFAULT_IDLE_S,
        max_answer_bytes: int = DEFAULT_MAX_ANSWER_BYTES,
        tls: ssl.SSLContext | None = None,
        holds: bool = False,
    ) -> None:
        self._wire = Wire(url, tls=tls)
        self._timeout_s, self._idle_s = timeout_s, idle_s
        self._max_answer_bytes = max_answer_bytes
        self._holds = holds

    async def convert(self, source: Source, mapping: str, *, into: Sink, job: Attempt) -> None:
        """Write the XML of a PDF into a sink, checked.

        Raises `GatewayFailed`, or what the source and the sink raise. Then what was written is of
        no use.
        """
        if not _can_be_asked_for(mapping):
            raise mapping_refused()
        try:
            await self._convert(source, mapping, into=into, job=job)
        except GatewayFailed as failed:
            blamed = failed.verdict.effective_blame and failed.verdict.spends_attempt
            if not self._holds or not blamed or await self._is_well():
                raise
            raise away(failed) from None

    async def _convert(self, source: Source, mapping: str, *, into: Sink, job: Attempt) -> None:
        headers = {
            "content-type": "application/pdf",
            "content-length": str(source.size),
            "accept": "application/xml",
            **job.trace_headers,
        }
        whole = source.whole
        patience = Patience(self._timeout_s, self._idle_s)
        with _RaisedAsOurs():
            async with self._wire.call(
                "POST",
                f"/convert?mapping={quote(mapping, safe='')}",
                headers=headers,
                content=_Counted(source) if whole is None else whole,
                patience=patience,
            ) as answer:
                if answer.status != _OK:
                    patience.end_within(_SAYING_S)
                    raise refusal(answer.status, answer.headers, await _said(answer))
                await self._receive(answer, into)

    def probe(self) -> None:
        """Return when the gateway says that it is well; raise `GatewayFailed` otherwise."""
        asyncio.run(self._probe())

    def close(self) -> None:
        """End the connections that are kept for the next call."""
        self._wire.close()

    async def _is_well(self) -> bool:
        try:
            await self._probe()
        except GatewayFailed:
            return False
        return True

    async def _probe(self) -> None:
        patience = Patience(min(PROBE_TIMEOUT_S, self._timeout_s), PROBE_TIMEOUT_S)
        with _RaisedAsOurs():
            async with self._wire.call("GET", "/health", headers={}, patience=patience) as answer:
                if answer.status not in _SUCCESSES:
                    raise refusal(answer.status, answer.headers, b"")

    async def _receive(self, answer: Answer, into: Sink) -> None:
        if answer.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
            raise unusable("it is compressed, which nobody asked for")
        length = answer.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._max_answer_bytes:
            raise oversized(self._max_answer_bytes)
        check = XmlCheck(max_bytes=self._max_answer_bytes)
        received = 0
        try:
            while chunk := await answer.read():
                received += len(chunk)
                if received > self._max_answer_bytes:
                    raise oversized(self._max_answer_bytes)
                check.feed(chunk)
                await into.write(chunk)
            check.close()
        except XmlRefused as error:
            raise unusable(str(error)) from None


def _can_be_asked_for(mapping: str) -> bool:
    return 0 < len(mapping) <= _MAX_MAPPING_LENGTH and mapping.isprintable()


class _Counted:
    """A source that raises unless it has the size that was announced to the gateway."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = source.size

    async def read(self) -> bytes:
        chunk = await self._source.read()
        self._left -= len(chunk)
        if self._left < 0 or (self._left and not chunk):
            raise StorageFailed("uploads", "the file is not as long as it says; upload it again")
        return chunk


async def _said(answer: Answer) -> bytes:
    """Return the beginning of an answer, as much of it as comes."""
    said = bytearray()
    with suppress(OSError, BadAnswer):
        while chunk := await answer.read():
            said += chunk
            if len(said) > MAX_SAID_BYTES:
                return b""
    return bytes(said)


class _RaisedAsOurs:
    """A block in which what goes wrong with a call becomes a failure of the gateway."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TimeoutError):
            raise timed_out(str(error)) from None
        if isinstance(error, OSError | BadAnswer):
            raise cut_off(str(error) or type(error).__name__) from None
