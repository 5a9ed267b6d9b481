"""A record of the error log: what it has to say, checked when it is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, Final, Self

from holdfast.core.values.failure import (
    MAX_MESSAGE_LENGTH,
    MAX_STACK_LENGTH,
    Category,
    Failure,
    Severity,
    clean_text,
)
from holdfast.core.values.instant import Instant, to_datetime
from holdfast.errors import InvalidDocument, InvalidValue
from holdfast.redaction.printable import json_text, text_of
from holdfast.secrecy import redacted_value, safe_text

JOB_ID: Final = "job_id"
OPERATION: Final = "operation"
REQUIRED_CONTEXT: Final = (JOB_ID, OPERATION)
"""What the context of a record has to name, unless the caller says otherwise."""
MAX_CONTEXT_VALUE_LENGTH: Final = 4_000


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """One logged error, with what is needed to understand it later.

    `timestamp` may be given as ISO 8601 text; without a zone it is in UTC. `context` must have the
    keys in `required_context`, which are those of the class unless it is given. Secrets are taken
    out of its texts before they are cut.
    """

    REQUIRED: ClassVar[tuple[str, ...]] = REQUIRED_CONTEXT

    timestamp: datetime
    severity: Severity
    category: Category
    message: str
    error_type: str
    stack_trace: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    http_status: int | None = None
    retry_count: int = 0
    """How often it had been tried again before."""
    required_context: InitVar[tuple[str, ...] | None] = None
    has_secrets: InitVar[bool] = True
    """False for texts of a failure, which has lost its secrets already."""

    def __post_init__(self, required_context: tuple[str, ...] | None, has_secrets: bool) -> None:
        put = object.__setattr__
        safe = safe_text if has_secrets else clean_text
        put(self, "timestamp", _moment(self.timestamp))
        put(self, "severity", _member("severity", Severity, self.severity))
        put(self, "category", _member("category", Category, self.category))
        put(self, "message", safe(_line("message", self.message), MAX_MESSAGE_LENGTH))
        put(self, "error_type", safe(_line("error_type", self.error_type), MAX_MESSAGE_LENGTH))
        if self.stack_trace is not None:
            trace = _text("stack_trace", self.stack_trace)
            put(self, "stack_trace", safe(trace, MAX_STACK_LENGTH))
        required = self.REQUIRED if required_context is None else required_context
        put(self, "context", _context(self.context, required))
        _check_number("http_status", self.http_status, optional=True)
        _check_number("retry_count", self.retry_count, optional=False)

    @classmethod
    def of_failure(
        cls,
        failure: Failure,
        *,
        at: Instant,
        context: Mapping[str, Any],
        retry_count: int = 0,
        required_context: tuple[str, ...] | None = None,
    ) -> Self:
        """Return the record of a failed attempt."""
        return cls(
            timestamp=to_datetime(at),
            severity=failure.severity,
            category=failure.category,
            message=failure.message,
            error_type=failure.exception_type or failure.error_class,
            stack_trace=failure.stack or None,
            context=context,
            http_status=failure.http_status,
            retry_count=retry_count,
            required_context=required_context,
            has_secrets=False,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values in a stable order."""
        return {
            "timestamp": self.timestamp.isoformat(),
            "severity": self.severity.value,
            "category": self.category.value,
            "message": self.message,
            "error_type": self.error_type,
            "stack_trace": self.stack_trace,
            "context": dict(self.context),
            "http_status": self.http_status,
            "retry_count": self.retry_count,
        }

    @classmethod
    def from_json(
        cls,
        document: Mapping[str, Any],
        *,
        required_context: tuple[str, ...] | None = None,
    ) -> Self:
        """Return the record that `to_json` wrote; fields that are not known are ignored."""
        known = {
            field.name: document[field.name] for field in fields(cls) if field.name in document
        }
        try:
            return cls(**known, required_context=required_context)
        except (TypeError, InvalidValue) as error:
            raise InvalidDocument(
                "error record", path="", limit="what ErrorRecord.to_json writes", found=str(error)
            ) from error


def line_of(document: Mapping[str, Any]) -> str:
    """Return a record's document as one line of JSON."""
    try:
        json.dumps(document, allow_nan=False, default=text_of)
        return json_text(document)
    except (TypeError, ValueError, RecursionError):
        # A value that JSON cannot carry must not cost the record.
        context = document.get("context")
        values = context.items() if isinstance(context, Mapping) else ()
        plain = {text_of(name): _cut(text_of(value)) for name, value in values}
        return json_text({**document, "context": plain})


def _cut(text: str) -> str:
    return clean_text(text, MAX_CONTEXT_VALUE_LENGTH)


def _moment(value: object) -> datetime:
    moment = value
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            moment = None
    if not isinstance(moment, datetime):
        raise _invalid("timestamp", value, "a datetime, or its ISO 8601 text")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _member(name: str, kind: type[StrEnum], value: object) -> StrEnum:
    try:
        return kind(str(value))
    except ValueError:
        names = ", ".join(member.value for member in kind)
        raise _invalid(name, value, f"one of {names}") from None


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid(name, value, "text")
    return value


def _line(name: str, value: object) -> str:
    text = _text(name, value)
    if not text.strip():
        raise _invalid(name, value, "text that is not empty")
    return text


def _context(value: object, required: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _invalid("context", value, "a mapping")
    missing = [name for name in required if name not in value]
    if missing:
        raise _invalid("context", sorted(map(text_of, value)), f"with {', '.join(missing)} in it")
    return {
        text_of(name): _cut(each) if isinstance(each, str) else each
        for name, each in redacted_value(dict(value)).items()
    }


def _check_number(name: str, value: object, *, optional: bool) -> None:
    if value is None and optional:
        return
    if type(value) is not int or value < 0:
        limit = "a whole number, not negative"
        raise _invalid(name, value, f"None or {limit}" if optional else limit)


def _invalid(name: str, value: object, limit: str) -> InvalidValue:
    return InvalidValue("ErrorRecord", field=name, value=value, limit=limit)
