"""The service that looks after the mailbox: one poll at a time, whatever the processes.

Most polls find nothing, and store only their time. A poll that finds mails or fails becomes a job,
with the retries and records of any other job.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from collabiq.failures.payloads import INBOX
from collabiq.gmail.errors import GmailFailure, InvalidCredentials
from collabiq.inbox.feeding import Feeder
from collabiq.inbox.standing import Standing
from collabiq.rows import (
    MailboxRow,
    begin_look,
    begin_poll,
    end_look,
    get_mailbox,
    open_mailbox,
    refuse_grant,
)
from collabiq.services.tools import Tools
from collabiq.settings.config import Config
from collabiq.tables.times import from_us
from holdfast import ConflictError, Holdfast, HoldfastError, JobState, JobView
from holdfast.errors import UnknownJob

LOGGER: Final = logging.getLogger("collabiq.inbox")
LOOK_TIME: Final = timedelta(seconds=120)
"""For which a process may have the mailbox for itself: two calls and their time-outs."""
TICK_S: Final = 0.5
_TROUBLE_S: Final = 1.0
_UNDER_WAY: Final = frozenset({JobState.QUEUED, JobState.PROCESSING, JobState.WAITING})


class Polls:
    """Begins polls, so that there is one at a time."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self._engine, self._mailbox = engine, config.mailbox

    def last(self) -> tuple[MailboxRow | None, JobView | None]:
        """Return the mailbox, and the poll that is under way or was last."""
        with self._engine.reading() as tx:
            row = get_mailbox(tx, self._mailbox)
        return row, None if row is None else self._view(row.poll_id)

    def begin(self, *, by: str) -> tuple[str, bool]:
        """Have a poll be made now; returns its id, and whether it was under way already."""
        while True:
            with self._engine.transaction() as tx:
                row = open_mailbox(tx, self._mailbox)
            view = self._view(row.poll_id)
            if view is not None and view.state in _UNDER_WAY:
                return view.id, True
            if view is not None and view.state is JobState.FAILED:
                # The same poll again: it is one outage, and one dead letter.
                try:
                    return self._engine.retry(view.id, by=by, reason="poll again").id, False
                except ConflictError:
                    continue
            made = self._submit(row)
            if made is not None:
                return made, False

    def _submit(self, row: MailboxRow) -> str | None:
        with self._engine.transaction() as tx:
            if open_mailbox(tx, self._mailbox).poll_id != row.poll_id:
                return None
            job = self._engine.submit(
                INBOX,
                {"mailbox": self._mailbox, "start_history_id": row.history_id},
                owner=self._mailbox,
                connection=tx.connection,
            )
            begin_poll(tx, self._mailbox, before=row.poll_id, poll_id=job.id)
        self._engine.store.announce_due()
        return job.id

    def _view(self, poll_id: str | None) -> JobView | None:
        if poll_id is None:
            return None
        try:
            return self._engine.job(poll_id)
        except UnknownJob:
            return None


class Poller:
    """Polls by the clock, has mails processed, and keeps how they stand."""

    def __init__(
        self,
        engine: Holdfast,
        config: Config,
        tools: Callable[[], Tools],
        *,
        standing: Standing,
        feeder: Feeder,
    ) -> None:
        self._engine, self._config, self._tools = engine, config, tools
        self._standing, self._feeder = standing, feeder
        self._polls = Polls(engine, config)
        self._stopping = threading.Event()

    def run(self, *, handle_signals: bool = True) -> int:
        """Look after the mailbox until `request_stop` is called."""
        del handle_signals
        while not self._stopping.is_set():
            changed = self._standing.changed
            changed.clear()
            try:
                self.turn()
                changed.wait(min(TICK_S, self._config.poll_interval_s))
            except HoldfastError as error:
                LOGGER.warning("the mailbox cannot be looked after: %s", error)
                self._stopping.wait(_TROUBLE_S)
        self._standing.close()
        return 0

    def request_stop(self) -> None:
        """Have `run` return soon."""
        self._stopping.set()
        self._standing.changed.set()

    def turn(self) -> None:
        """Do what is due now."""
        self._standing.keep()
        if self._config.email_address is not None:
            self._look()
            self._feeder.feed()

    def _look(self) -> None:
        """See whether something is new, where that is due and nobody else does."""
        row, view = self._polls.last()
        if row is not None and not _is_due(row, self._now()):
            return
        if view is not None and view.state in _UNDER_WAY:
            return
        if row is not None and row.refused_grant is not None:
            self._look_at_credentials(row.refused_grant)
            return
        if not self._feeder.is_well():
            return
        until = self._now() + LOOK_TIME
        with self._engine.transaction() as tx:
            if not begin_look(tx, self._config.mailbox, until=until):
                return
        history_id: str | None = None
        try:
            history_id = self._looked(row, view)
        finally:
            with self._engine.transaction() as tx:
                end_look(
                    tx,
                    self._config.mailbox,
                    until=until,
                    next_at=tx.now + timedelta(seconds=self._config.poll_interval_s),
                    before=None if row is None else row.history_id,
                    history_id=history_id,
                )

    def _looked(self, row: MailboxRow | None, view: JobView | None) -> str | None:
        """Return up to where nothing is new; has a poll be made otherwise."""
        failed = view is not None and view.state is JobState.FAILED
        known = None if row is None else row.history_id
        if known is None and not failed:
            self._polls.begin(by="collabiq")
            return None
        try:
            if known is None:
                self._tools().gmail().profile()
                self._polls.begin(by="collabiq")
                return None
            page = self._tools().gmail().history_page(known)
        except GmailFailure:
            if not failed:  # a known outage is reported once
                self._polls.begin(by="collabiq")
            return None
        if page.ids or page.next_page or failed:
            self._polls.begin(by="collabiq")
            return None
        return page.history_id

    def _look_at_credentials(self, refused: str) -> None:
        """Poll again once the credentials have changed."""
        try:
            found = self._tools().credentials().fingerprint()
        except InvalidCredentials:
            return
        if found != refused:
            with self._engine.transaction() as tx:
                refuse_grant(tx, self._config.mailbox, None)
            self._polls.begin(by="collabiq")

    def _now(self) -> datetime:
        return from_us(self._engine.clock.now())


def _is_due(row: MailboxRow, now: datetime) -> bool:
    return row.next_look_at is None or row.next_look_at <= now
