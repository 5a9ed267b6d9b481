"""The records of errors: what failed, what waits for a replay, how retries and breakers behave.

Every rule is checked when a record is made, so whatever there is of them is valid.
"""

from collabiq.records.circuit_breaker import (
    INFISICAL_CIRCUIT_CONFIG,
    SERVICES,
    STANDARD_CIRCUIT_CONFIG,
    CircuitBreakerState,
    CircuitConfig,
    CircuitState,
    circuit_config_of,
)
from collabiq.records.dlq_entry import (
    DLQ_FORM,
    OPERATION_TYPES,
    DLQEntry,
    DLQStatus,
    is_email_id,
)
from collabiq.records.error_record import ErrorCategory, ErrorRecord, ErrorSeverity
from collabiq.records.retry_config import RetryConfig
from collabiq.records.retry_configs import (
    GEMINI_RETRY_CONFIG,
    GMAIL_RETRY_CONFIG,
    INFISICAL_RETRY_CONFIG,
    NOTION_RETRY_CONFIG,
)

__all__ = [
    "DLQ_FORM",
    "GEMINI_RETRY_CONFIG",
    "GMAIL_RETRY_CONFIG",
    "INFISICAL_CIRCUIT_CONFIG",
    "INFISICAL_RETRY_CONFIG",
    "NOTION_RETRY_CONFIG",
    "OPERATION_TYPES",
    "SERVICES",
    "STANDARD_CIRCUIT_CONFIG",
    "CircuitBreakerState",
    "CircuitConfig",
    "CircuitState",
    "DLQEntry",
    "DLQStatus",
    "ErrorCategory",
    "ErrorRecord",
    "ErrorSeverity",
    "RetryConfig",
    "circuit_config_of",
    "is_email_id",
]
