"""Has Gmail notify a topic of Pub/Sub of new mails: asked for again every day."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from collabiq.failures.errors import ErrorRecords
from collabiq.gmail.errors import GmailFailure, GmailForbidden, GrantRevoked, InvalidCredentials
from collabiq.records.error_record import ErrorCategory
from collabiq.rows import get_mailbox, set_watched
from collabiq.settings.config import Config
from holdfast import Holdfast

LOGGER: Final = logging.getLogger("collabiq.watching")
LASTS: Final = timedelta(days=7)
"""After which Gmail forgets a watch."""
RENEWED_EVERY: Final = timedelta(days=1)
TRIED_AGAIN_AFTER: Final = timedelta(minutes=10)
_US: Final = 1_000_000
_FOR_A_PERSON: Final = (GmailForbidden, GrantRevoked, InvalidCredentials)


class Watched(Protocol):
    """What a watch is asked of."""

    def watch(self, topic: str) -> object:
        """Have a topic be notified."""
        ...


class Watching:
    """Renews the watch of the mailbox; a chore of every worker, of which one finds it due.

    Polls go on without it: a watch that fails costs nothing but time, so a record is all that it
    leaves.
    """

    def __init__(
        self,
        engine: Holdfast,
        config: Config,
        gmail: Callable[[], Watched],
        *,
        errors: ErrorRecords | None = None,
    ) -> None:
        self._engine, self._config, self._gmail, self._errors = engine, config, gmail, errors
        self._not_before: datetime | None = None
        self._failing = False

    def renew(self) -> bool:
        """Renew the watch where that is due; return whether it was renewed."""
        topic, mailbox = self._config.gmail_topic, self._config.email_address
        now = datetime.fromtimestamp(self._engine.clock.now() / _US, UTC)
        if topic is None or mailbox is None or (self._not_before and now < self._not_before):
            return False
        with self._engine.transaction() as tx:
            row = get_mailbox(tx, mailbox)
        # Credentials that were refused are not tried again before a person has signed in.
        if row is None or row.refused_grant is not None:
            return False
        if row.watched_until is not None and row.watched_until - now > LASTS - RENEWED_EVERY:
            return False
        self._not_before = now + TRIED_AGAIN_AFTER
        try:
            self._gmail().watch(topic)
        except GmailFailure as failure:
            self._report(failure, now)
            return False
        self._failing = False
        with self._engine.transaction() as tx:
            set_watched(tx, mailbox, until=now + LASTS)
        return True

    def _report(self, failure: GmailFailure, now: datetime) -> None:
        LOGGER.warning("the watch of the mailbox was not renewed: %s", failure)
        if self._failing or self._errors is None:
            return
        self._failing = True
        critical = isinstance(failure, _FOR_A_PERSON)
        self._errors.record(
            f"Gmail does not notify of new mails: {failure}; the mailbox is polled all the same",
            at=now,
            operation="gmail_fetch",
            category=ErrorCategory.CRITICAL if critical else ErrorCategory.TRANSIENT,
            error_type=type(failure).__name__,
        )
