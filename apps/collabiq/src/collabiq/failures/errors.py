"""Records of failures: a line in a file of `data/logs` for each, written when it happens."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from collabiq.failures.payloads import INBOX, OPERATION_OF_STAGE, PIPELINES
from collabiq.records.dlq_entry import is_email_id
from collabiq.records.error_record import ErrorCategory, ErrorRecord, ErrorSeverity
from collabiq.refusals import Invalid, flaw
from collabiq.settings.config import Config
from holdfast import Holdfast, JobView, UsageError
from holdfast.classify import Failure
from holdfast.error_log import ErrorLog

LOGGER: Final = logging.getLogger("collabiq.errors")
MOST: Final = 1_000
_NAME: Final = re.compile(r"error_([0-9]{8}T[0-9]{12}Z)_(.+)\.json")
_STAMP: Final = "%Y%m%dT%H%M%S%fZ"


class ErrorRecords:
    """Writes a record of every attempt that fails, and finds them again.

    An attempt that is tried again is a WARNING, one that is not an ERROR, and what only a person
    can mend is CRITICAL.
    """

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self._config = config
        self.log = ErrorLog(
            config.data_dir,
            subject="email_id",
            context=lambda job: self._context(JobView(job, job.updated_at)),
            pipelines=PIPELINES,
            severity=severity_of,
        )
        engine.log_errors(self.log)

    def record(
        self,
        message: str,
        *,
        at: datetime,
        operation: str,
        severity: ErrorSeverity = ErrorSeverity.WARNING,
        category: ErrorCategory = ErrorCategory.TRANSIENT,
        error_type: str = "Warning",
        email_id: str = INBOX,
        context: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write a record of something that no job failed of; returns its file.

        A record that cannot be written is left out: what it is about goes on.
        """
        about = {"email_id": email_id, "operation": operation, "mailbox": self._config.mailbox}
        made = ErrorRecord(
            at, severity, category, message, error_type, None, {**(context or {}), **about}
        )
        try:
            return self.log.write(made)
        except OSError as error:
            LOGGER.warning("an error record cannot be written: %s", error)
            return self.log.path_of(made)

    def list(
        self,
        *,
        severity: str | None = None,
        category: str | None = None,
        operation: str | None = None,
        email_id: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the newest records that match, newest first."""
        _check_choice("severity", severity, [each.value for each in ErrorSeverity])
        _check_choice("category", category, [each.value for each in ErrorCategory])
        if type(limit) is not int or not 1 <= limit <= MOST:
            raise Invalid([flaw("/limit", f"has to be a whole number from 1 to {MOST}")])
        found: list[dict[str, Any]] = []
        for path in self._files(severity, email_id, since):
            for record in _records(path):
                context = record.context
                if (
                    category in (None, record.category.value)
                    and operation in (None, context.get("operation"))
                    and email_id in (None, context.get("email_id"))
                    and (since is None or record.timestamp >= since)
                ):
                    found.append(record.to_json())
            if len(found) >= limit:
                break
        return {"errors": found[:limit]}

    def _context(self, job: JobView) -> dict[str, Any]:
        payload = job.payload if isinstance(job.payload, Mapping) else {}
        email_id = payload.get("email_id")
        return {
            "email_id": email_id if is_email_id(email_id) else INBOX,
            "operation": OPERATION_OF_STAGE.get(job.job.stage, job.job.stage),
            "stage": job.job.stage,
            "mailbox": job.job.owner,
        }

    def _files(
        self, severity: str | None, email_id: str | None, since: datetime | None
    ) -> Sequence[Path]:
        """Return the files that may hold what is looked for, by the moment in their names."""
        first = "" if since is None else since.astimezone(UTC).strftime(_STAMP)
        found: list[tuple[str, Path]] = []
        for folder in self.log.root.glob(severity or "*"):
            for path in folder.glob("error_*.json"):
                named = _NAME.fullmatch(path.name)
                if named and named[1] >= first and email_id in (None, named[2]):
                    found.append((named[1], path))
        found.sort(reverse=True)
        return [path for _, path in found]


def moment_and_mail_of(path: Path) -> tuple[datetime, str] | None:
    """Return when the records of a file begin, and of which mail they are, by its name."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        return None
    return datetime.strptime(named[1], _STAMP).replace(tzinfo=UTC), named[2]


def severity_of(failure: Failure, retried: bool) -> ErrorSeverity:  # noqa: FBT001 - as it is called
    """Return how loudly a failure is logged."""
    if failure.category is ErrorCategory.CRITICAL:
        return ErrorSeverity.CRITICAL
    return ErrorSeverity.WARNING if retried else ErrorSeverity.ERROR


def _records(path: Path) -> Iterator[ErrorRecord]:
    """Yield the records of a file, the last line first; what is no record is passed over."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in reversed(lines):
        try:
            yield ErrorRecord.from_json(json.loads(line))
        except (ValueError, TypeError, AttributeError, UsageError):
            continue


def _check_choice(name: str, value: str | None, known: list[str]) -> None:
    if value is not None and value not in known:
        raise Invalid([flaw(f"/{name}", f"has to be one of {', '.join(known)}")])
