"""What it means for a grading that its recording could not be transcribed."""

from __future__ import annotations

from typing import Any, Final

from grading.audio.rules import AUDIO_RULES
from grading.speech.errors import RecogniserFailed
from grading.states import FailureReason
from holdfast.classify import Rule, Verdict, usual_verdict

_AUTH_DENIED: Final = "AUTH_DENIED"
_CONTENT_POLICY: Final = "CONTENT_POLICY"
_PROVIDER_AUTH: Final = Verdict(FailureReason.PROVIDER_AUTH.value, retryable=False)
_PROVIDER_ERROR: Final = Verdict(FailureReason.PROVIDER_ERROR.value, retryable=False)


def _verdict_of_sdk_error(error: BaseException, now: Any) -> Verdict | None:  # noqa: ANN401 - passed on
    """Name what no attempt cures as the document does; None for what is tried again."""
    usual = usual_verdict(error, now=now)
    if usual is None or usual.retryable or usual.error_class == _CONTENT_POLICY:
        return None
    return _PROVIDER_AUTH if usual.error_class == _AUTH_DENIED else _PROVIDER_ERROR


STT_RULES: Final = (
    Rule(RecogniserFailed, Verdict("RECOGNISER_FAILED", retryable=True, blames_upstream=False)),
    Rule("openai.*", _verdict_of_sdk_error),
    *AUDIO_RULES,
)
"""What a stage that transcribes says of exceptions.

Rate limits, 5xx and lost connections are as everywhere; refused credentials and spent quotas are
`PROVIDER_AUTH`, refused content is `CONTENT_POLICY`, and other refusals are `PROVIDER_ERROR`.
"""
