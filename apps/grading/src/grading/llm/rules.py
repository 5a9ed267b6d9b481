"""What it means for a grading that its text could not be assessed."""

from __future__ import annotations

from typing import Any, Final

from grading.llm.errors import AnswerRefused, MalformedAnswer
from grading.states import FailureReason
from holdfast.classify import Category, Rule, Verdict, usual_verdict

MAX_ANSWERS: Final = 3
"""How many answers of one text are paid for: the first, and two after a repair prompt."""
_AUTH_DENIED: Final = "AUTH_DENIED"
_CONTENT_POLICY: Final = "CONTENT_POLICY"
_CONFLICT: Final = "CONFLICT"
_PROVIDER_AUTH: Final = Verdict(
    FailureReason.PROVIDER_AUTH.value, retryable=False, category=Category.CRITICAL
)
_PROVIDER_ERROR: Final = Verdict(FailureReason.PROVIDER_ERROR.value, retryable=False)


def _verdict_of_sdk_error(
    error: BaseException,
    now: Any,  # noqa: ANN401 - an instant of the engine's
) -> Verdict | None:
    """Name what is not tried again as the document does; None for what is."""
    usual = usual_verdict(error, now=now)
    if usual is None or usual.error_class == _CONTENT_POLICY:
        return None
    if usual.error_class == _AUTH_DENIED:
        return _PROVIDER_AUTH
    # Of the statuses from 400 to 499 only timeouts and rate limits are tried again.
    if usual.retryable and usual.error_class != _CONFLICT:
        return None
    return _PROVIDER_ERROR


LLM_RULES: Final = (
    # The next attempt repairs. An endpoint that answers is well.
    Rule(
        MalformedAnswer,
        Verdict(
            FailureReason.PROVIDER_ERROR.value,
            retryable=True,
            attempts=MAX_ANSWERS,
            blames_upstream=False,
        ),
    ),
    Rule(AnswerRefused, Verdict(FailureReason.CONTENT_POLICY.value, retryable=False)),
    Rule("openai.*", _verdict_of_sdk_error),
)
"""What a stage that assesses says of exceptions.

Rate limits, 5xx, timeouts and lost connections are as everywhere: tried again. Refused credentials
and spent quotas are `PROVIDER_AUTH`, refused content is `CONTENT_POLICY`, and every other refusal
is `PROVIDER_ERROR`.
"""
