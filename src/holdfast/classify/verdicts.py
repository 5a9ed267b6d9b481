"""The verdicts that many tables share, one name each."""

from __future__ import annotations

from typing import Final

from holdfast.classify.rule import Verdict
from holdfast.core.values.failure import BUG as UNKNOWN_EXCEPTION
from holdfast.core.values.failure import Category, ErrorClass, Severity

TIMEOUT: Final = Verdict(ErrorClass.NETWORK_TIMEOUT, retryable=True, outcome_known=False)
"""No answer in time; the upstream may have done what was asked."""
TIMEOUT_UNSENT: Final = Verdict(ErrorClass.NETWORK_TIMEOUT, retryable=True)
"""No connection in time; nothing was asked."""
NETWORK: Final = Verdict(ErrorClass.NETWORK, retryable=True, outcome_known=False)
"""The connection broke; the upstream may have done what was asked."""
UNSENT: Final = Verdict(ErrorClass.NETWORK, retryable=True)
"""There was no connection; nothing was asked."""
SATURATED: Final = Verdict(ErrorClass.SATURATED, retryable=True)
"""We have no connection to spare; says nothing about the upstream."""
RATE_LIMITED: Final = Verdict(ErrorClass.RATE_LIMITED, retryable=True)
QUOTA: Final = Verdict(ErrorClass.QUOTA_EXCEEDED, retryable=True)
"""So much is allowed in a day or a month, and it is used up: it passes when the window ends."""
UPSTREAM: Final = Verdict(ErrorClass.UPSTREAM_5XX, retryable=True, outcome_known=False)
AUTH: Final = Verdict(ErrorClass.AUTH_DENIED, retryable=False, category=Category.CRITICAL)
"""Credentials, permissions or a spent credit: no job passes until a person acts."""
INVALID: Final = Verdict(ErrorClass.INVALID, retryable=False)
ANSWER_INVALID: Final = Verdict(
    ErrorClass.INVALID, retryable=True, attempts=2, blames_upstream=True
)
"""An answer that cannot be read: it was asked and done, and another try seldom differs."""
OUTPUT_INVALID: Final = Verdict(
    ErrorClass.INVALID, retryable=True, attempts=3, blames_upstream=False
)
"""A model's answer that does not fit: the next one may, but each is paid for."""
NOT_FOUND: Final = Verdict(ErrorClass.NOT_FOUND, retryable=False)
CONFLICT: Final = Verdict(ErrorClass.CONFLICT, retryable=True)
"""Another was faster; what reads again before it writes may try again."""
CONFLICT_FINAL: Final = Verdict(ErrorClass.CONFLICT, retryable=False)
"""What was to be made is there already."""
POLICY: Final = Verdict(ErrorClass.CONTENT_POLICY, retryable=False)
IO_RETRY: Final = Verdict(ErrorClass.IO_ERROR, retryable=True)
IO_STOP: Final = Verdict(ErrorClass.IO_ERROR, retryable=False)
IO_CORRUPT: Final = Verdict(
    ErrorClass.IO_ERROR, retryable=False, category=Category.CRITICAL, severity=Severity.CRITICAL
)
CRASH: Final = Verdict(ErrorClass.WORKER_CRASH, retryable=True, outcome_known=False, attempts=2)
"""A process died over this work; what kills two is not given a third."""
PROCESS: Final = Verdict(ErrorClass.PROCESS_FAILED, retryable=False, outcome_known=False)
BUG: Final = Verdict(
    UNKNOWN_EXCEPTION.error_class,
    retryable=False,
    severity=UNKNOWN_EXCEPTION.severity,
    outcome_known=False,
)
MISCONFIGURED: Final = Verdict(
    UNKNOWN_EXCEPTION.error_class, retryable=False, severity=UNKNOWN_EXCEPTION.severity
)
"""The call was wrong before anything was sent: a bad address, an unknown option."""
