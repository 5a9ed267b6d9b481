"""Collabiq, put together: what HTTP, pages and commands call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from collabiq.emails.emails import Emails
from collabiq.failures.circuits import Circuits
from collabiq.failures.dlq import DatabaseId, DeadLetterQueue
from collabiq.failures.errors import ErrorRecords
from collabiq.flow.flow import Flow
from collabiq.inbox.inbox import Inbox
from collabiq.services.tools import ROWS_DATABASE
from collabiq.services.upstreams import fallback_cooldown_s
from collabiq.settings.config import Config
from collabiq.settings.sources import config_document
from collabiq.status.rules import rules_document
from collabiq.status.status import status_document
from holdfast import Holdfast
from holdfast.secrets import Secrets


class Collabiq:
    """The system on one engine; with a `flow` also what its stages work with."""

    def __init__(
        self,
        engine: Holdfast,
        config: Config,
        *,
        flow: Flow | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.engine, self.config, self.flow = engine, config, flow
        self.environment = os.environ if environment is None else environment
        """The variables that the settings were read from."""
        self.errors = ErrorRecords(engine, config)
        if flow is not None:
            flow.bind(engine, errors=self.errors)
        self.emails = Emails(engine, config, errors=self.errors)
        self.inbox = Inbox(engine, config)
        self.dlq = DeadLetterQueue(engine, config, database_id=self._database_id())
        self.circuits = Circuits(
            engine,
            infisical=None if flow is None else flow.secrets.guard,
            fallback_cooldown_s=fallback_cooldown_s(config),
        )

    @property
    def secrets(self) -> Secrets:
        """Where secrets are asked for by name."""
        return self.engine.secrets if self.flow is None else self.flow.secrets

    def status(self, *, owner: str | None = None) -> dict[str, Any]:
        """Return how each service is, today's counts, the last poll, the token and the cost."""
        return status_document(self, owner=owner)

    def rules(self) -> dict[str, Any]:
        """Return which field goes to which column, as the schema was last found."""
        return rules_document(self.engine, self.config)

    def config_document(self) -> dict[str, Any]:
        """Return every setting with its source; secrets are masked."""
        return config_document(self.secrets, self.environment)

    def _database_id(self) -> DatabaseId | None:
        flow = self.flow
        if flow is None:
            return None
        return lambda: flow.works.tools.maybe_secret(ROWS_DATABASE)
