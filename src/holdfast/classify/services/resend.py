"""resend, which calls every failure to reach its API an error 500 without headers."""

from __future__ import annotations

from typing import Final

from holdfast.classify.facts.http import headers_of, status_of
from holdfast.classify.http.httpx import HTTPX
from holdfast.classify.http.requests import REQUESTS
from holdfast.classify.reasons import verdict_of_causes
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.table import Table
from holdfast.classify.verdicts import ANSWER_INVALID, NETWORK
from holdfast.core.values.instant import Instant

_TRANSPORT: Final = Table((*REQUESTS, *HTTPX))
_FAILED_TO_REACH: Final = 500


def _verdict_of_unreached(error: BaseException, now: Instant) -> Verdict | None:
    """What the HTTP client below said; None when there was an answer."""
    if status_of(error) != _FAILED_TO_REACH or headers_of(error):
        return None
    return verdict_of_causes(error, _TRANSPORT, now=now) or NETWORK


RESEND: Final[tuple[Rule, ...]] = (
    Rule("resend.ResendError", _verdict_of_unreached, speaks_http=False),
    Rule("resend.NoContentError", ANSWER_INVALID),
)
