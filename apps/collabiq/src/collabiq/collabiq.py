"""Collabiq, put together: what HTTP, pages and commands call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from collabiq.config import Config
from collabiq.emails import Emails
from collabiq.inbox import Inbox
from holdfast import Holdfast

if TYPE_CHECKING:
    from collabiq.circuits import Circuits  # type: ignore[import-not-found]
    from collabiq.dlq import DeadLetterQueue  # type: ignore[import-not-found]
    from collabiq.errors import ErrorRecords  # type: ignore[import-not-found]


class Collabiq:
    """The system on one engine."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self.engine, self.config = engine, config
        self.emails = Emails(engine, config)
        self.inbox = Inbox(engine, config)

    @property
    def dlq(self) -> DeadLetterQueue:
        """The dead letters."""
        raise NotImplementedError

    @property
    def errors(self) -> ErrorRecords:
        """The records of failures."""
        raise NotImplementedError

    @property
    def circuits(self) -> Circuits:
        """The breakers of the four services."""
        raise NotImplementedError

    def status(self) -> dict[str, Any]:
        """Return how each service is, today's counts, the last poll, the token and the cost."""
        raise NotImplementedError

    def config_document(self) -> dict[str, Any]:
        """Return every setting with its source; secrets are masked."""
        raise NotImplementedError
