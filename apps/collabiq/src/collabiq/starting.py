"""The secrets of this system: all of them at the start, and the ones in force while it runs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from collabiq.config import Config
from collabiq.dlq import DeadLetterQueue
from collabiq.errors import ErrorRecords
from collabiq.records.dlq_entry import DLQ_FORM, DLQEntry, DLQStatus
from collabiq.records.error_record import ErrorCategory, ErrorSeverity
from collabiq.secrets import (
    Found,
    GuardedSource,
    InfisicalFailure,
    InfisicalSettings,
    InfisicalSource,
    SecretProvider,
)
from holdfast import Guard, Holdfast, UsageError
from holdfast.secrets import Secrets

STARTUP: Final = "startup"
OPERATION: Final = "infisical_fetch"
PLAIN_NAMES: Final = ("NOTION_DATABASE_ID_COLLABIQ", "NOTION_DATABASE_ID_COMPANIES")
"""Kept beside the secrets, and shown to people: which database is written to."""
_SECRET_PARTS: Final = ("token", "access_token", "refresh_token", "client_secret", "private_key")
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


class SystemSecrets(Secrets):
    """Secrets by name, as handlers get them: of Infisical, a file, or the environment.

    Nothing is fetched before the first is asked for. Every value is hidden before it is handed out,
    but for those of `PLAIN_NAMES`, which `plain` returns.
    """

    def __init__(
        self,
        config: Config,
        environment: Mapping[str, str],
        *,
        source: InfisicalSource | GuardedSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._source = source or _source_of(config)
        self._lock = threading.Lock()
        self._engine: Holdfast | None = None
        self._unhidden: list[str] = []
        self._on_failure: Callable[[InfisicalFailure], None] | None = None
        self.last_failure: InfisicalFailure | None = None
        self.provider = SecretProvider(
            source=self._source,
            environment=environment,
            env_file=config.env_file,
            ttl_s=config.infisical.cache_ttl_s,
            clock=clock,
            on_failure=self._failed,
            on_values=self._hide,
            plain_names=PLAIN_NAMES,
        )
        # The provider remembers by itself, and goes by its own time.
        super().__init__(_Reading(self.provider), ttl=0)

    @property
    def guard(self) -> Guard | None:
        """What stands before Infisical; None where it is not used."""
        return self._source.guard if isinstance(self._source, GuardedSource) else None

    def get(self, name: str, *, fresh: bool = False) -> str:
        """Return the value in force, or raise `holdfast.secrets.SecretUnavailable`."""
        if fresh:
            self.provider.refresh()
        return super().get(name, fresh=fresh)

    def plain(self, name: str) -> str | None:
        """Return a value of `PLAIN_NAMES`, which is no secret; None where it is found nowhere."""
        if name not in PLAIN_NAMES:
            raise ValueError(f"{name} is a secret")
        found = self.provider.get(name)
        return None if found is None else found.value

    def found(self, name: str) -> Found | None:
        """Return a value with where it comes from; None where it is found nowhere."""
        return self.provider.get(name)

    def bind(self, engine: Holdfast) -> None:
        """Have an engine hide every value, those that were fetched before included."""
        with self._lock:
            self._engine, known = engine, self._unhidden
            self._unhidden = []
        own = self._config.infisical.client_secret
        engine.add_secrets([*known, *([own] if own else [])])

    def report_to(self, on_failure: Callable[[InfisicalFailure], None] | None) -> None:
        """Call this once an outage of Infisical, when it begins."""
        self._on_failure = on_failure

    def _hide(self, values: Sequence[str]) -> None:
        hidden = [part for value in values for part in _parts_of(value)]
        with self._lock:
            engine = self._engine
            if engine is None:
                self._unhidden.extend(hidden)
        if engine is not None:
            engine.add_secrets(hidden)

    def _failed(self, failure: InfisicalFailure) -> None:
        self.last_failure = failure
        if self._on_failure is not None:
            self._on_failure(failure)


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


class _Reading:
    """Our provider as the engine asks one."""

    def __init__(self, provider: SecretProvider) -> None:
        self._provider = provider

    def read(self, name: str) -> str | None:
        """Return the value in force, or None."""
        found = self._provider.get(name)
        return None if found is None else found.value


def _source_of(config: Config) -> GuardedSource | None:
    given = config.infisical
    if not given.enabled:
        return None
    settings = InfisicalSettings(
        host=given.host,
        project_id=given.project_id,
        environment=given.environment,
        client_id=given.client_id,
        client_secret=given.client_secret,
    )
    return GuardedSource(InfisicalSource(settings), cooldown_s=config.circuit_cooldown_s)


def _parts_of(value: str) -> list[str]:
    """Return a value and, of a JSON object, the secrets in it."""
    if not value.lstrip().startswith("{"):
        return [value]
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return [value]
    inner = [document.get(name) for name in _SECRET_PARTS] if isinstance(document, dict) else []
    return [value, *(each for each in inner if isinstance(each, str) and each)]


def _retries(error: Exception) -> int:
    return 0 if isinstance(error, UsageError) or getattr(error, "refused", False) else 1
