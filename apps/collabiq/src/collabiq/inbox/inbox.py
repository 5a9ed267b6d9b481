"""The mailbox: polls of it, by the clock or on request."""

from __future__ import annotations

from typing import Any

from collabiq.inbox.poller import Polls
from collabiq.refusals import WrongState
from collabiq.rows import want_poll
from collabiq.settings.config import Config
from holdfast import Holdfast


class Inbox:
    """Has the mailbox polled, one poll at a time."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self._engine, self._config = engine, config
        self._polls = Polls(engine, config)

    def fetch(self, *, by: str) -> dict[str, Any]:
        """Have the mailbox polled now: `poll_id`, and whether a poll under way was `joined`."""
        if self._config.email_address is None:
            raise WrongState("no mailbox is watched; set EMAIL_ADDRESS")
        poll_id, joined = self._polls.begin(by=by)
        return {"poll_id": poll_id, "joined": joined}

    def last_poll(self) -> dict[str, Any] | None:
        """Return when the mailbox was last polled, and what came of it."""
        row, view = self._polls.last()
        if row is None:
            return None
        return {
            "mailbox": row.mailbox,
            "poll_id": row.poll_id,
            "state": None if view is None else view.state.value,
            "error": None if view is None else view.error,
            "polled_at": None if row.polled_at is None else row.polled_at.isoformat(),
            "found": row.found,
            "kind": row.kind,
            "history_id": row.history_id,
            "credentials_refused": row.refused_grant is not None,
            "watched_until": None if row.watched_until is None else row.watched_until.isoformat(),
        }

    def notified(self) -> None:
        """Have the mailbox polled soon because Gmail says that there is something new."""
        with self._engine.transaction() as tx:
            want_poll(tx, self._config.mailbox)
