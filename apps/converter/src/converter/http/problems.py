"""From a refusal of the converter to the problem that a request ends with."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from converter.codes import GW_4XX, NOT_PDF, TOO_LARGE
from converter.http.upload_form import BadForm
from converter.refusals import (
    CallbackRefused,
    NotTaken,
    PriorityRefused,
    QuotaReached,
    Refusal,
    TooManyUploads,
)
from holdfast.api.problems import Kind, Problem

QUOTA_REACHED: Final = "QUOTA_REACHED"
TOO_MANY_UPLOADS: Final = "TOO_MANY_UPLOADS"
CALLBACK_REFUSED: Final = "CALLBACK_REFUSED"
PRIORITY_REFUSED: Final = "PRIORITY_REFUSED"
_CLOSE: Final = {"Connection": "close"}
"""The rest of a file that is not taken is not read."""
_TITLES: Final = {
    NOT_PDF: "The file is no PDF",
    TOO_LARGE: "The file is too large",
    "IO_ERROR": "The file could not be kept",
    "NOT_READY": "There is no XML yet",
    "EXPIRED": "The file is gone",
    "FORBIDDEN": "It is somebody else's",
    GW_4XX: "The file cannot be converted",
}


@contextmanager
def told_as_problems() -> Generator[None]:
    """Raise refusals as problems."""
    try:
        yield
    except NotTaken as refusal:
        told, kind = refusal.told, _kind(refusal)
        raise Problem(
            told.code, told.message, kind=kind, headers=_CLOSE, job_id=refusal.job_id
        ) from None
    except Refusal as refusal:
        raise Problem(refusal.told.code, refusal.told.message, kind=_kind(refusal)) from None
    except QuotaReached as error:
        kind = Kind(429, "Too much of yours is under way")
        raise Problem(QUOTA_REACHED, str(error), kind=kind, limit=error.limit) from None
    except TooManyUploads as error:
        kind = Kind(429, "Too many files in a minute")
        headers = {**_CLOSE, "Retry-After": f"{math.ceil(error.wait_s)}"}
        raise Problem(
            TOO_MANY_UPLOADS, str(error), kind=kind, headers=headers, limit=error.limit
        ) from None
    except CallbackRefused as error:
        kind = Kind(400, "No callback may go there")
        raise Problem(CALLBACK_REFUSED, str(error), kind=kind, headers=_CLOSE) from None
    except PriorityRefused as error:
        kind = Kind(403, "That priority is not yours to use")
        raise Problem(PRIORITY_REFUSED, str(error), kind=kind, headers=_CLOSE) from None
    except BadForm as error:
        raise Problem("malformed_request", str(error), headers=_CLOSE) from None


def _kind(refusal: Refusal) -> Kind:
    told = refusal.told
    return Kind(told.http_status, _TITLES.get(told.code, "It is refused"))
