"""What an error looks like over HTTP: RFC 9457 problem details with a stable `code`."""

from __future__ import annotations

from typing import Final

from converter.gateway.errors import (
    ConversionError,
    EngineFailed,
    MappingUnknown,
    Reason,
    Refused,
    TimedOut,
)

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
"""What `Retry-After` says: about as long as most conversions take."""
_REFUSED_STATUS: Final = {Reason.NOT_A_PDF: 415, Reason.TOO_LARGE: 413}
"""Every other reason is a 400."""


class Problem(Exception):
    """Ends a request with this status, code and line."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status, self.code, self.detail = status, code, detail
        super().__init__(detail)


def problem_of(error: ConversionError) -> Problem:
    """Return what a conversion that failed is over HTTP."""
    match error:
        case Refused():
            return Problem(_REFUSED_STATUS.get(error.reason, 400), error.reason.value, str(error))
        case MappingUnknown():
            return Problem(406, error.code, str(error))
        case TimedOut():
            return Problem(503, error.code, str(error))
        case EngineFailed():
            return Problem(500, error.code, str(error))
        case _:
            raise error
