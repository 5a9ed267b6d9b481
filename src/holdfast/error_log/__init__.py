"""The error log: a JSON line for every failed attempt, in files by severity."""

from holdfast.core.values.failure import Category, Severity
from holdfast.error_log.log import Describe, ErrorLog
from holdfast.error_log.record import REQUIRED_CONTEXT, ErrorRecord

__all__ = ["REQUIRED_CONTEXT", "Category", "Describe", "ErrorLog", "ErrorRecord", "Severity"]
