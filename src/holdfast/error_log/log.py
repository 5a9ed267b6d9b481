"""The error log: one JSON line per failure, in files by severity, besides the normal log.

    {root}/logs/{severity}/error_{timestamp}_{subject}.json

A file appears with its line complete or not at all; a second record of the same name is a second
line of the same file. It may be attached to an application, and then has a record of every attempt
that failed. It is for people and programs that watch errors: what must not be lost is in the
ledger and the dead letters.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any, Final, TypeAlias

from holdfast.core.job.decision import Kind
from holdfast.core.job.job import Job
from holdfast.core.values.failure import (
    Failure,
    Severity,
)
from holdfast.error_log.record import JOB_ID, OPERATION, REQUIRED_CONTEXT, ErrorRecord, line_of
from holdfast.redaction.printable import safe_name, text_of
from holdfast.runtime.events.announce import Applied
from holdfast.secrecy import private

MAX_SUBJECT_LENGTH: Final = 80
_WITHHELD: Final = "[withheld: redaction failed]"
Redact: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes what is to be written and gives back what may be."""
Describe: TypeAlias = Callable[[Job], Mapping[str, Any]]
"""Says what else the context of a job's records names."""
SeverityOf: TypeAlias = Callable[[Failure, bool], Severity]
"""Says how loudly a failure is logged, given it and whether it is tried again."""


class ErrorLog:
    """Writes records below `root`, each as one line.

    `subject` is what of a record's context names its file: `job_id` unless it is given, and where a
    context has no such name. `context` says what else the context of a job's records names.
    `redact`, if given, gets every record, its secrets gone already, and gives back what is written
    of it. With `pipelines` only their jobs have records. `severity` says how loudly a failure is
    logged, given it and whether it is tried again; without it the failure's own counts.
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
        line = (line_of(self._redacted(record)) + "\n").encode()
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
