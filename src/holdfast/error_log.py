"""The error log: one JSON line per failure, in files by severity, besides the normal log.

    {root}/logs/{severity}/error_{timestamp}_{subject}.json

A file appears with its line complete or not at all; a second record of the same name is a second
line of the same file. It may be attached to an application, and then has a record of every attempt
that failed. It is for people and programs that watch errors: what must not be lost is in the
ledger and the dead letters.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import InitVar, dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeAlias

from holdfast.core.job.decision import Kind
from holdfast.core.job.job import Job
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
from holdfast.redaction.printable import json_text, safe_name, text_of
from holdfast.runtime.events.announce import Applied
from holdfast.secrecy import private, redacted_value, safe_text

__all__ = ["REQUIRED_CONTEXT", "Category", "Describe", "ErrorLog", "ErrorRecord", "Severity"]

JOB_ID: Final = "job_id"
OPERATION: Final = "operation"
REQUIRED_CONTEXT: Final = (JOB_ID, OPERATION)
"""What the context of a record has to name, unless the caller says otherwise."""
MAX_CONTEXT_VALUE_LENGTH: Final = 4_000
MAX_SUBJECT_LENGTH: Final = 80

_WITHHELD: Final = "[withheld: redaction failed]"

Redact: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes what is to be written and gives back what may be."""
Describe: TypeAlias = Callable[[Job], Mapping[str, Any]]
"""Says what else the context of a job's records names."""
SeverityOf: TypeAlias = Callable[[Failure, bool], Severity]
"""Says how loudly a failure is told, given it and whether it is tried again."""


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
        """The record of a failed attempt."""
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
        """The record that `to_json` wrote; fields that are not known are ignored."""
        known = {
            field.name: document[field.name] for field in fields(cls) if field.name in document
        }
        try:
            return cls(**known, required_context=required_context)
        except (TypeError, InvalidValue) as error:
            raise InvalidDocument(
                "error record", path="", limit="what ErrorRecord.to_json writes", found=str(error)
            ) from error


class ErrorLog:
    """Writes records below `root`, each as one line.

    `subject` is what of a record's context names its file: `job_id` unless it is given, and where a
    context has no such name. `context` says what else the context of a job's records names.
    `redact`, if given, gets every record, its secrets gone already, and gives back what is written
    of it. With `pipelines` only their jobs have records. `severity` says how loudly a failure is
    told, given it and whether it is tried again; without it the failure's own counts.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        subject: str | None = None,
        context: Describe | None = None,
        redact: Redact | None = None,
        pipelines: Collection[str] | None = None,
        severity: SeverityOf | None = None,
    ) -> None:
        self.root = Path(root) / "logs"
        """The folder with a folder for each severity."""
        self._subjects = (JOB_ID,) if subject is None else (subject, JOB_ID)
        self._describe, self._redact = context, redact
        self._pipelines, self._severity = pipelines, severity

    def record_of(self, applied: Applied) -> ErrorRecord | None:
        """The record of a decision about a failed attempt or job; None for any other decision."""
        job, decision = applied
        failure, entry = decision.failure, decision.entry
        if failure is None or (self._pipelines is not None and job.pipeline not in self._pipelines):
            return None
        context = {
            JOB_ID: job.id,
            OPERATION: entry.stage,
            "pipeline": job.pipeline,
            "attempt": entry.attempt,
            "error_class": failure.error_class,
            "event": entry.kind.value,
        }
        if job.key is not None:
            context["key"] = private(job.key)
        record = ErrorRecord.of_failure(
            failure,
            at=entry.at,
            context=context | self._described(job),
            retry_count=max(entry.attempt - 1, 0),
            required_context=REQUIRED_CONTEXT,
        )
        if self._severity is None:
            return record
        severity = self._severity(failure, entry.kind is Kind.RETRIED)
        return replace(record, severity=severity, required_context=(), has_secrets=False)

    def keep(self, applied: Applied) -> None:
        """Write the record of a decision, if it has one."""
        record = self.record_of(applied)
        if record is not None:
            self.write(record)

    def _described(self, job: Job) -> dict[str, Any]:
        if self._describe is None:
            return {}
        try:
            return dict(self._describe(job))
        except Exception as error:  # noqa: BLE001 - what a program says of a job may fail in any way
            return {"context_failed": type(error).__name__}

    def path_of(self, record: ErrorRecord) -> Path:
        """The file the record belongs to; the subject is the context's, made safe for a name."""
        stamp = record.timestamp.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        named = (record.context[name] for name in self._subjects if name in record.context)
        subject = safe_name(text_of(next(named, "")), longest=MAX_SUBJECT_LENGTH)
        return self.root / record.severity.value / f"error_{stamp}_{subject}.json"

    def write(self, record: ErrorRecord) -> Path:
        """Write the record and return its file; an OSError says that it could not be kept."""
        line = (_line_of(self._redacted(record)) + "\n").encode()
        path = self.path_of(record)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _create(path, line):
            _append(path, line)
        return path

    def _redacted(self, record: ErrorRecord) -> dict[str, Any]:
        if self._redact is None:
            return record.to_json()
        try:
            return self._redact(record.to_json())
        except Exception:  # noqa: BLE001 - what cannot be redacted must not be written either
            context = dict.fromkeys(record.context, _WITHHELD)
            bare = replace(
                record,
                message=_WITHHELD,
                stack_trace=None,
                context=context,
                required_context=(),
            )
            return bare.to_json()


def _create(path: Path, line: bytes) -> bool:
    """Make the file with this line, whole; false when there is such a file already."""
    number, scratch = tempfile.mkstemp(dir=path.parent, prefix=".error_", suffix=".tmp")
    try:
        with os.fdopen(number, "wb", buffering=0) as file:
            _write_whole(file.fileno(), line)
        os.link(scratch, path)
    except FileExistsError:
        return False
    finally:
        Path(scratch).unlink()
    return True


def _append(path: Path, line: bytes) -> None:
    """Add the line, whole: others wait, and half a line is taken back."""
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file.fileno()).st_size
        try:
            _write_whole(file.fileno(), line)
        except OSError:
            file.truncate(size)
            raise


def _write_whole(file: int, line: bytes) -> None:
    written = os.write(file, line)
    if written != len(line):
        raise OSError(f"only {written} of {len(line)} bytes were written")


def _line_of(document: Mapping[str, Any]) -> str:
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
