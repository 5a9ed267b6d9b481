"""The ten codes that users meet: in answers of the API, in jobs, in logs and on the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from holdfast.classify import Failure, PublicCode, PublicCodes

NOT_PDF: Final = "NOT_PDF"
TOO_LARGE: Final = "TOO_LARGE"
GW_4XX: Final = "GW_4XX"
GW_5XX: Final = "GW_5XX"
GW_TIMEOUT: Final = "GW_TIMEOUT"
IO_ERROR: Final = "IO_ERROR"
NOT_READY: Final = "NOT_READY"
EXPIRED: Final = "EXPIRED"
FORBIDDEN: Final = "FORBIDDEN"
UNKNOWN: Final = "UNKNOWN"

GW_UNAVAILABLE: Final = "GW_UNAVAILABLE"
GW_MISCONFIGURED: Final = "GW_MISCONFIGURED"
INVALID_MAPPING: Final = "INVALID_MAPPING"
MEMORY_ERROR: Final = "MEMORY_ERROR"
"""Error classes for operators; users meet the codes that the table below has for them."""

MISTAKES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "not_a_pdf": "NOT_A_PDF",
        "no_text": "NO_TEXT",
        "pdf_broken": "PDF_BROKEN",
        "pdf_truncated": "PDF_TRUNCATED",
        "pdf_encrypted": "PDF_ENCRYPTED",
        "pdf_protected": "PDF_PROTECTED",
        "pdf_cyclic": "PDF_CYCLIC",
        "too_many_pages": "TOO_MANY_PAGES",
        "page_size_impossible": "PAGE_SIZE_IMPOSSIBLE",
        "too_costly": "TOO_COSTLY",
        "result_too_large": "RESULT_TOO_LARGE",
        "mapping_unknown": INVALID_MAPPING,
    }
)
"""The error class of each mistake of a sender, by the code that a gateway has for it."""

_NAME: Final = re.compile(r"[\w-]{1,40}", re.ASCII)
"""A name that may be shown as it was sent."""
_MEGABYTE: Final = 1024 * 1024
_OVER_LIMIT: Final = re.compile(r"File exceeds [0-9.e+-]{1,20} MB limit\.")


def _line(failure: Failure, code: PublicCode) -> str | None:
    """Return what a user reads about a failure where that is more than the line of its code.

    Of a refusal the line ends with what the gateway said, where that was safe to show; of a file
    over the limit it names the limit that was in force.
    """
    said = failure.message
    if code.code == TOO_LARGE:
        return said if _OVER_LIMIT.fullmatch(said) else None
    refused = code.code == GW_4XX and said.startswith(f"{code.message} ")
    return said if refused and said.isprintable() else None


CODES: Final = PublicCodes(
    {
        NOT_PDF: PublicCode(message="Only PDF files are supported.", http_status=400),
        TOO_LARGE: PublicCode(message="File exceeds 50 MB limit.", http_status=413),
        GW_4XX: PublicCode(
            message="Couldn’t convert this file with the selected mapping.", http_status=422
        ),
        GW_5XX: PublicCode(
            message="Converter service is having an issue. We’ll retry shortly.",
            final_message="Converter service had an issue. Try again later.",
            http_status=502,
            retryable=True,
        ),
        GW_TIMEOUT: PublicCode(
            message="Conversion is taking too long. We’ll retry.",
            final_message="Conversion took too long. Try again later.",
            http_status=504,
            retryable=True,
        ),
        IO_ERROR: PublicCode(
            message="Temporary storage issue. We’ll retry.",
            final_message="Storage issue. Try again later.",
            http_status=500,
            retryable=True,
        ),
        NOT_READY: PublicCode(message="Conversion not finished yet.", http_status=409),
        EXPIRED: PublicCode(
            message="File was removed by retention. Re-upload to regenerate.", http_status=404
        ),
        FORBIDDEN: PublicCode(message="This file isn’t yours.", http_status=403),
        UNKNOWN: PublicCode(
            message="Something went wrong on our side.", http_status=500, retryable=True
        ),
    },
    mapping={
        # Error classes of the converter and of gateways.
        GW_UNAVAILABLE: GW_5XX,
        GW_MISCONFIGURED: GW_5XX,
        "PARSE_ERROR": GW_4XX,
        "VALIDATION_ERROR": GW_4XX,
        INVALID_MAPPING: GW_4XX,
        MEMORY_ERROR: UNKNOWN,
        **dict.fromkeys(MISTAKES.values(), GW_4XX),
        # Error classes of the engine.
        "INVALID": GW_4XX,
        "CONTENT_POLICY": GW_4XX,
        "UPSTREAM_5XX": GW_5XX,
        "NETWORK": GW_5XX,
        "RATE_LIMITED": GW_5XX,
        "SATURATED": GW_5XX,
        "AUTH_DENIED": GW_5XX,
        "NOT_FOUND": GW_5XX,
        "CIRCUIT_OPEN": GW_5XX,
        "NETWORK_TIMEOUT": GW_TIMEOUT,
        "STAGE_TIMEOUT": GW_TIMEOUT,
        "TIMEOUT": GW_TIMEOUT,
    },
    default=UNKNOWN,
    line=_line,
)
"""Each code with its line, its HTTP status where an API answers with it, and whether the worker
tries again by itself; and the code for everything that can become of a job."""


def told_of(error: Mapping[str, Any]) -> PublicCode:
    """Return what the user of a failed job reads: a code and one line that promises no retry."""
    return CODES.of(error, final=True)


def told_of_mapping(mapping: str, *, known: Sequence[str]) -> PublicCode:
    """Return what the sender of a file reads who asks for a mapping that there is not."""
    names = ", ".join(known)
    asked = mapping.strip()
    shown = f" {asked}" if _NAME.fullmatch(asked) else ""
    line = f"There is no mapping{shown}; choose one of {names}."
    if not asked:
        line = f"Choose a mapping: {names}."
    told = CODES.codes[GW_4XX]
    return replace(told, message=f"{told.message} {line}", http_status=400)


def told_of_refused(code: str, *, limit_bytes: int) -> PublicCode:
    """Return what the sender of a file that was not taken reads.

    The line about one that is too large names the limit that is in force.
    """
    if code != TOO_LARGE:
        return CODES.codes[code].at_the_end
    megabytes = limit_bytes / _MEGABYTE
    size = f"{megabytes:.0f}" if megabytes >= 1 else f"{megabytes:.2g}"
    return replace(CODES.codes[TOO_LARGE], message=f"File exceeds {size} MB limit.")
