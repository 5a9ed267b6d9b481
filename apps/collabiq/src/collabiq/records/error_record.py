"""One logged error of this system: always of a mail, or of what stands in for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.error_log import Category as ErrorCategory
from holdfast.error_log import ErrorRecord as GeneralRecord
from holdfast.error_log import Severity as ErrorSeverity

__all__ = ["ErrorCategory", "ErrorRecord", "ErrorSeverity"]


@dataclass(frozen=True, slots=True)
class ErrorRecord(GeneralRecord):
    """One logged error; its context has to name `email_id` and `operation`.

    It stands as a line in `data/logs/{severity}/error_{timestamp}_{email_id}.json`.
    """

    REQUIRED: ClassVar[tuple[str, ...]] = ("email_id", "operation")
