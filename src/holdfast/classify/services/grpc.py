"""gRPC, by status code; the wait that a `RetryInfo` in the trailing metadata asks for.

The details are read from the wire, so that neither grpcio-status nor protobuf need be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from holdfast.classify.facts.http import read
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import (
    AUTH,
    CONFLICT,
    CONFLICT_FINAL,
    INVALID,
    NETWORK,
    NOT_FOUND,
    RATE_LIMITED,
    TIMEOUT,
    UNSENT,
    UPSTREAM,
)
from holdfast.core.values.failure import MAX_RETRY_AFTER_US
from holdfast.core.values.instant import SECOND_US, Instant

_LIMITED: Final = replace(UPSTREAM, attempts=3)

_BY_CODE: Final[Mapping[str, Verdict]] = {
    "CANCELLED": replace(NETWORK, blames_upstream=False),
    "UNKNOWN": _LIMITED,
    "INVALID_ARGUMENT": INVALID,
    "DEADLINE_EXCEEDED": TIMEOUT,
    "NOT_FOUND": NOT_FOUND,
    "ALREADY_EXISTS": CONFLICT_FINAL,
    "PERMISSION_DENIED": AUTH,
    "RESOURCE_EXHAUSTED": RATE_LIMITED,
    "FAILED_PRECONDITION": CONFLICT_FINAL,
    "ABORTED": CONFLICT,
    "OUT_OF_RANGE": INVALID,
    "UNIMPLEMENTED": INVALID,
    "INTERNAL": _LIMITED,
    "UNAVAILABLE": NETWORK,
    "DATA_LOSS": _LIMITED,
    "UNAUTHENTICATED": AUTH,
}
_NEVER_CONNECTED: Final = ("failed to connect to all addresses", "DNS resolution failed")

_DETAILS_KEY: Final = "grpc-status-details-bin"
_RETRY_INFO: Final = b"google.rpc.RetryInfo"
_STATUS_DETAILS, _ANY_TYPE, _ANY_VALUE, _RETRY_DELAY, _SECONDS, _NANOS = 3, 1, 2, 1, 1, 2
_MAX_DETAILS: Final = 64_000
_MORE_FOLLOWS: Final = 0x80
_LONGEST_SHIFT: Final = 63

_Field: TypeAlias = tuple[int, int | bytes]


def verdict_of_code(name: str) -> Verdict | None:
    """What a status code says by its name; None for OK and for names that are none."""
    return _BY_CODE.get(name)


def _verdict_of_call(error: BaseException, _now: Instant) -> Verdict | None:
    verdict = verdict_of_code(str(read(_said(error, "code"), ("name",))))
    if verdict is RATE_LIMITED:
        return replace(RATE_LIMITED, retry_after_us=retry_after_us_of_call(error))
    if verdict is NETWORK and str(_said(error, "details")).startswith(_NEVER_CONNECTED):
        return UNSENT
    return verdict


def _said(call: object, name: str) -> object:
    answer = read(call, (name,))
    try:
        return answer() if callable(answer) else answer
    except Exception:  # noqa: BLE001 - a call object may raise anything
        return None


def retry_after_us_of_call(call: object) -> int | None:
    """Return the wait that the trailing metadata of a call ask for; None when they do not."""
    metadata = _said(call, "trailing_metadata")
    try:
        details = dict(metadata or ())[_DETAILS_KEY]  # type: ignore[call-overload]
        return _retry_delay_us(details) if len(details) <= _MAX_DETAILS else None
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _retry_delay_us(status: bytes) -> int | None:
    for detail in _messages(status, _STATUS_DETAILS):
        kinds = list(_messages(detail, _ANY_TYPE))
        if not kinds or not kinds[0].endswith(_RETRY_INFO):
            continue
        for info in _messages(detail, _ANY_VALUE):
            for duration in _messages(info, _RETRY_DELAY):
                parts = dict(_fields(duration))
                seconds, nanos = parts.get(_SECONDS, 0), parts.get(_NANOS, 0)
                if isinstance(seconds, int) and isinstance(nanos, int):
                    return min(seconds * SECOND_US + nanos // 1_000, MAX_RETRY_AFTER_US)
    return None


def _messages(message: bytes, number: int) -> Iterator[bytes]:
    return (
        value for found, value in _fields(message) if found == number and isinstance(value, bytes)
    )


def _fields(message: bytes) -> Iterator[_Field]:
    """The fields of a protobuf message: varints as integers, everything with a length as bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        match kind:
            case 0:
                value, at = _varint(message, at)
                yield number, value
            case 2:
                length, at = _varint(message, at)
                yield number, message[at : at + length]
                at += length
            case 1:
                at += 8
            case 5:
                at += 4
            case _:
                raise ValueError(f"wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < _MORE_FOLLOWS:
            return value, at
        if shift > _LONGEST_SHIFT:
            raise ValueError("a number of more than 64 bits")


GRPC: Final[tuple[Rule, ...]] = (Rule("grpc.RpcError", _verdict_of_call, speaks_http=False),)
