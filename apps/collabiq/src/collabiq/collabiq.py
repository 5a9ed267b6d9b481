"""Collabiq, put together: what HTTP, pages and commands call."""

from __future__ import annotations

from typing import Any

from collabiq.circuits import Circuits
from collabiq.config import Config
from collabiq.dlq import DeadLetterQueue
from collabiq.emails import Emails
from collabiq.errors import ErrorRecords
from collabiq.inbox import Inbox
from holdfast import Holdfast


class Collabiq:
    """The system on one engine."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self.engine, self.config = engine, config
        self.emails = Emails(engine, config)
        self.inbox = Inbox(engine, config)
        self.dlq = DeadLetterQueue(engine, config)
        self.errors = ErrorRecords(engine, config)
        self.circuits = Circuits(engine)

    def status(self) -> dict[str, Any]:
        """Return how each service is, today's counts, the last poll, the token and the cost."""
        raise NotImplementedError

    def config_document(self) -> dict[str, Any]:
        """Return every setting with its source; secrets are masked."""
        raise NotImplementedError
