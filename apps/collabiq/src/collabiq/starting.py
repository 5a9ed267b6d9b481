"""A start: every secret has to be there, and what became of Infisical is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from collabiq.failures.dlq import DeadLetterQueue
from collabiq.failures.errors import ErrorRecords
from collabiq.records.dlq_entry import DLQ_FORM, DLQEntry, DLQStatus
from collabiq.records.error_record import ErrorCategory, ErrorSeverity
from collabiq.secrets import Found, InfisicalFailure
from collabiq.settings.config import Config
from collabiq.settings.system_secrets import SystemSecrets
from holdfast import Holdfast, UsageError

STARTUP: Final = "startup"
OPERATION: Final = "infisical_fetch"
_US: Final = 1_000_000
_BY: Final = "collabiq"


class MissingAtStart(UsageError):
    """Secrets without which nothing can be done are found nowhere; only their names are shown."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(
            f"these secrets are found nowhere: {', '.join(self.names)}; put them into Infisical, "
            "the file that ENV_FILE names, or the environment"
        )


class Starting:
    """Requires the secrets before anything is begun, and records what became of Infisical.

    A value that is found elsewhere while Infisical fails leaves a record and no entry to replay,
    unless `INFISICAL_DLQ_ALWAYS` is set; a required one that is found nowhere leaves an entry.
    """

    def __init__(
        self,
        engine: Holdfast,
        config: Config,
        secrets: SystemSecrets,
        *,
        errors: ErrorRecords,
        dlq: DeadLetterQueue,
    ) -> None:
        self._engine, self._config, self._secrets = engine, config, secrets
        self._errors, self._dlq = errors, dlq
        self._subject = STARTUP

    def begin(self) -> dict[str, Found]:
        """Return the required secrets with where they were found; raises `MissingAtStart`."""
        secrets = self._secrets
        secrets.bind(self._engine)
        secrets.report_to(self._record)
        names = self._config.required_secrets
        found = {name: secrets.found(name) for name in names}
        self._subject = "inbox"
        missing = [name for name, each in found.items() if each is None]
        if missing:
            self._refuse(missing)
            raise MissingAtStart(missing)
        if self._config.infisical.enabled and secrets.last_failure is None:
            self._close_entries()
        return {name: each for name, each in found.items() if each is not None}

    def _record(self, failure: InfisicalFailure) -> None:
        kind = ErrorCategory.CRITICAL if failure.refused else ErrorCategory.TRANSIENT
        self._errors.record(
            f"{failure}; the last good values are used, then the file and the environment",
            at=self._now(),
            operation=OPERATION,
            severity=ErrorSeverity.WARNING,
            category=kind,
            error_type=type(failure).__name__,
            email_id=self._subject,
        )
        if self._config.infisical.dlq_always:
            self._keep(failure, names=self._config.required_secrets)

    def _refuse(self, missing: Sequence[str]) -> None:
        failure = self._secrets.last_failure
        error = MissingAtStart(missing)
        self._errors.record(
            str(error),
            at=self._now(),
            operation=OPERATION,
            severity=ErrorSeverity.CRITICAL,
            category=ErrorCategory.CRITICAL,
            error_type=type(error).__name__,
            email_id=STARTUP,
        )
        if self._config.infisical.enabled:
            self._keep(failure or error, names=missing)

    def _keep(self, error: Exception, *, names: Sequence[str]) -> None:
        """Add an entry, unless one for the same names is open already."""
        infisical = self._config.infisical
        payload: dict[str, Any] = {
            "names": list(names),
            "project_id": infisical.project_id,
            "environment": infisical.environment,
        }
        if any(entry["original_payload"] == payload for entry in self._open_entries()):
            return
        now = self._now()
        self._dlq.keep(
            DLQEntry(
                DLQ_FORM.id_of(now, STARTUP),
                STARTUP,
                OPERATION,
                DLQStatus.PENDING,
                payload,
                {
                    "error_type": type(error).__name__,
                    "error_message": str(error),
                    "stack_trace": None,
                    "retry_count": _retries(error),
                },
                now,
                now,
            ),
            by=_BY,
        )

    def _close_entries(self) -> None:
        for entry in self._open_entries():
            reason = "a later start found every secret that is required"
            self._dlq.complete(entry["dlq_id"], by=_BY, reason=reason)

    def _open_entries(self) -> list[dict[str, Any]]:
        return self._dlq.list(OPERATION, DLQStatus.PENDING.value)["entries"]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._engine.clock.now() / _US, UTC)


def _retries(error: Exception) -> int:
    return 0 if isinstance(error, UsageError) or getattr(error, "refused", False) else 1
