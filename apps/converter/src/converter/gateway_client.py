"""Calls the gateway, any that speaks HTTP: PDF out, XML in."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Protocol
from urllib.parse import quote

import httpcore2

from converter.gateway.xml_check import XmlCheck, XmlRefused
from converter.gateway_failures import (
    MAX_SAID_BYTES,
    cut_off,
    mapping_refused,
    oversized,
    refusal,
    timed_out,
    unusable,
)
from converter.gateway_wire import Answer, Patience, call
from converter.storage.contract import Draft, Reading
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


class GatewayClient:
    """The gateway at one address, which `converter.gateway_address.checked_url` has checked.

    A call takes `timeout_s` at most, and no longer than `idle_s` without a byte once the answer
    has begun. An answer has `max_answer_bytes` at most. Any number of threads may use one client.
    Whom to trust under HTTPS the system says, unless `tls` does.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float,
        idle_s: float = DEFAULT_IDLE_S,
        max_answer_bytes: int = DEFAULT_MAX_ANSWER_BYTES,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._url, self._tls = url, tls
        self._timeout_s, self._idle_s = timeout_s, idle_s
        self._max_answer_bytes = max_answer_bytes

    def convert(self, source: Reading, mapping: str, *, into: Draft, job: Attempt) -> None:
        """Write the XML of a PDF into a draft, checked; who calls commits it.

        Raises `GatewayFailed`, or what the source and the draft raise. Then the draft is of no use.
        """
        if not _can_be_asked_for(mapping):
            raise mapping_refused()
        headers = {
            "content-type": "application/pdf",
            "content-length": str(source.size),
            "accept": "application/xml",
            **job.trace_headers,
        }
        patience = Patience(self._timeout_s, self._idle_s)
        with (
            _raised_as_ours(),
            call(
                "POST",
                f"{self._url}/convert?mapping={quote(mapping, safe='')}",
                headers=headers,
                content=_all_of(source),
                patience=patience,
                tls=self._tls,
            ) as answer,
        ):
            if answer.status != _OK:
                patience.end_within(_SAYING_S)
                raise refusal(answer.status, answer.headers, _said(answer))
            self._receive(answer, into)

    def probe(self) -> None:
        """Return when the gateway says that it is well; raise `GatewayFailed` otherwise."""
        patience = Patience(min(PROBE_TIMEOUT_S, self._timeout_s), PROBE_TIMEOUT_S)
        url = f"{self._url}/health"
        with (
            _raised_as_ours(),
            call("GET", url, headers={}, patience=patience, tls=self._tls) as answer,
        ):
            if answer.status not in _SUCCESSES:
                raise refusal(answer.status, answer.headers, b"")

    def _receive(self, answer: Answer, into: Draft) -> None:
        if answer.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
            raise unusable("it is compressed, which nobody asked for")
        length = answer.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._max_answer_bytes:
            raise oversized(self._max_answer_bytes)
        check = XmlCheck(max_bytes=self._max_answer_bytes)
        received = 0
        try:
            for chunk in answer.body:
                received += len(chunk)
                if received > self._max_answer_bytes:
                    raise oversized(self._max_answer_bytes)
                check.feed(chunk)
                into.write(chunk)
            check.close()
        except XmlRefused as error:
            raise unusable(str(error)) from None


def _can_be_asked_for(mapping: str) -> bool:
    return 0 < len(mapping) <= _MAX_MAPPING_LENGTH and mapping.isprintable()


def _all_of(source: Reading) -> Iterator[bytes]:
    """Yield the source, and raise unless it has the size that the gateway was told."""
    sent = 0
    for chunk in source:
        sent += len(chunk)
        if sent > source.size:
            break
        yield chunk
    if sent != source.size:
        raise StorageFailed("uploads", "the file is not as long as it says; upload it again")


def _said(answer: Answer) -> bytes:
    """Return the beginning of an answer, as much of it as comes."""
    said = bytearray()
    with suppress(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError):
        for chunk in answer.body:
            said += chunk
            if len(said) > MAX_SAID_BYTES:
                return b""
    return bytes(said)


@contextmanager
def _raised_as_ours() -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise timed_out(str(error)) from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise cut_off(str(error) or type(error).__name__) from None
