"""What users of a file converter are told, whatever went wrong behind it."""

from __future__ import annotations

from typing import Final

from holdfast.classify.public import PublicCode, PublicCodes
from holdfast.core.failure import ErrorClass

GATEWAY_CODES: Final = PublicCodes(
    {
        "NOT_PDF": PublicCode(message="Only PDF files are supported.", http_status=400),
        "TOO_LARGE": PublicCode(message="File exceeds 50 MB limit.", http_status=413),
        "GW_4XX": PublicCode(
            message="Couldn’t convert this file with the selected mapping.", http_status=422
        ),
        "GW_5XX": PublicCode(
            message="Converter service is having an issue. We’ll retry shortly.",
            http_status=502,
            retryable=True,
        ),
        "GW_TIMEOUT": PublicCode(
            message="Conversion is taking too long. We’ll retry.", http_status=504, retryable=True
        ),
        "IO_ERROR": PublicCode(
            message="Temporary storage issue. We’ll retry.", http_status=500, retryable=True
        ),
        "NOT_READY": PublicCode(
            message="Conversion not finished yet.", http_status=409, retryable=True
        ),
        "EXPIRED": PublicCode(
            message="File was removed by retention. Re-upload to regenerate.", http_status=404
        ),
        "FORBIDDEN": PublicCode(message="This file isn’t yours.", http_status=403),
        "UNKNOWN": PublicCode(message="Something went wrong.", http_status=500),
    },
    mapping={
        ErrorClass.INVALID: "GW_4XX",
        ErrorClass.CONTENT_POLICY: "GW_4XX",
        ErrorClass.RESULT_INVALID: "GW_4XX",
        "INVALID_MAPPING": "GW_4XX",
        "PARSE_ERROR": "GW_4XX",
        "VALIDATION_ERROR": "GW_4XX",
        ErrorClass.UPSTREAM_5XX: "GW_5XX",
        ErrorClass.NETWORK: "GW_5XX",
        ErrorClass.RATE_LIMITED: "GW_5XX",
        ErrorClass.CIRCUIT_OPEN: "GW_5XX",
        ErrorClass.AUTH_DENIED: "GW_5XX",
        "GW_UNAVAILABLE": "GW_5XX",
        ErrorClass.NETWORK_TIMEOUT: "GW_TIMEOUT",
        ErrorClass.STAGE_TIMEOUT: "GW_TIMEOUT",
        ErrorClass.TIMEOUT: "GW_TIMEOUT",
        "MEMORY_ERROR": "UNKNOWN",
    },
    default="UNKNOWN",
)
"""One short code and one line for each thing a user can do something about."""
