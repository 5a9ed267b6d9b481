"""infisicalsdk, which keeps the body of an answer and drops its headers.

The exception of requests that it was raised over still has them. Network errors come through as
those of requests.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Final

from holdfast.classify.facts.describe import causes_of
from holdfast.classify.facts.http import retry_after_us_of
from holdfast.classify.http.status import verdict_of_response
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import ANSWER_INVALID
from holdfast.core.values.instant import Instant


def _verdict_of_answer(error: BaseException, now: Instant) -> Verdict | None:
    verdict = verdict_of_response(error, now)
    if verdict is None or not verdict.retryable:
        return verdict
    waits = (retry_after_us_of(cause, now=now) for cause in islice(causes_of(error), 1, None))
    return replace(verdict, retry_after_us=next((us for us in waits if us is not None), None))


INFISICAL: Final[tuple[Rule, ...]] = (
    Rule("infisical_sdk.APIError", _verdict_of_answer),
    Rule("infisical_sdk.InfisicalError", ANSWER_INVALID),
)
