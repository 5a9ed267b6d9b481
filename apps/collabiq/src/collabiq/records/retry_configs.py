"""How the four APIs are retried."""

from __future__ import annotations

from typing import Final

from collabiq.records.named_exceptions import NamedExceptions
from collabiq.records.retry_config import RetryConfig

GMAIL_RETRY_CONFIG: Final = RetryConfig(
    max_attempts=3,
    backoff_multiplier=1.0,
    backoff_min=1.0,
    backoff_max=10.0,
    jitter_min=0.0,
    jitter_max=2.0,
    timeout=30.0,
    # socket.timeout is another name of TimeoutError.
    retryable_exceptions=NamedExceptions(
        "googleapiclient.errors.HttpError", kinds={TimeoutError, ConnectionError}
    ),
    respect_retry_after=True,
)

GEMINI_RETRY_CONFIG: Final = RetryConfig(
    max_attempts=3,
    backoff_multiplier=1.0,
    backoff_min=1.0,
    backoff_max=10.0,
    jitter_min=0.0,
    jitter_max=2.0,
    timeout=60.0,
    retryable_exceptions=NamedExceptions(
        "google.api_core.exceptions.ResourceExhausted",
        "google.api_core.exceptions.DeadlineExceeded",
        kinds={ConnectionError},
    ),
    respect_retry_after=True,
)
"""A model takes longer to answer than the others."""

NOTION_RETRY_CONFIG: Final = RetryConfig(
    max_attempts=3,
    backoff_multiplier=1.0,
    backoff_min=1.0,
    backoff_max=10.0,
    jitter_min=0.0,
    jitter_max=2.0,
    timeout=30.0,
    retryable_exceptions=NamedExceptions("notion_client.APIResponseError"),
    respect_retry_after=True,
)

INFISICAL_RETRY_CONFIG: Final = RetryConfig(
    max_attempts=2,
    backoff_multiplier=1.0,
    backoff_min=1.0,
    backoff_max=5.0,
    jitter_min=0.0,
    jitter_max=1.0,
    timeout=10.0,
    retryable_exceptions={TimeoutError, ConnectionError},
    respect_retry_after=False,
)
"""There is a fallback, so it is given up sooner."""
