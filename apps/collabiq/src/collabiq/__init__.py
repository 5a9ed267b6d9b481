"""Mails about collaborations become rows of a Notion database, each of them once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collabiq.records import (
        GEMINI_RETRY_CONFIG,
        GMAIL_RETRY_CONFIG,
        INFISICAL_CIRCUIT_CONFIG,
        INFISICAL_RETRY_CONFIG,
        NOTION_RETRY_CONFIG,
        STANDARD_CIRCUIT_CONFIG,
        CircuitBreakerState,
        CircuitState,
        DLQEntry,
        DLQStatus,
        ErrorCategory,
        ErrorRecord,
        ErrorSeverity,
        RetryConfig,
    )

__all__ = [
    "GEMINI_RETRY_CONFIG",
    "GMAIL_RETRY_CONFIG",
    "INFISICAL_CIRCUIT_CONFIG",
    "INFISICAL_RETRY_CONFIG",
    "NOTION_RETRY_CONFIG",
    "STANDARD_CIRCUIT_CONFIG",
    "CircuitBreakerState",
    "CircuitState",
    "DLQEntry",
    "DLQStatus",
    "ErrorCategory",
    "ErrorRecord",
    "ErrorSeverity",
    "RetryConfig",
]


def __getattr__(name: str) -> object:
    # The records stand on the engine, and commands that need no engine start sooner.
    if name in __all__:
        return getattr(import_module("collabiq.records"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
