"""Has the mails that were noticed processed, as many at a time as an outage may cost.

A service that fails sends the mails under way to the dead letter queue. Those that were only
noticed stay at Gmail until it is well again; after its timeout one mail at a time tries.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from collabiq.failures.circuits import Circuits
from collabiq.failures.payloads import EMAIL
from collabiq.inbox.standing import Standing
from collabiq.records.circuit_breaker import CircuitState
from collabiq.rows import GMAIL, begin_run, count_under_way, open_mailbox, waiting_emails
from collabiq.settings.config import Config
from holdfast import Holdfast

AT_ONCE: Final = 12
"""Enough to keep Notion busy while a model thinks, and few enough for a person to look through."""


class Feeder:
    """Makes jobs of mails that wait for their turn."""

    def __init__(self, engine: Holdfast, config: Config, *, standing: Standing) -> None:
        self._engine, self._config, self._standing = engine, config, standing
        self._circuits = Circuits(engine)

    def is_well(self) -> bool:
        """Return whether new mails may be taken at all."""
        return self.room() > 0

    def room(self) -> int:
        """Return how many mails may be under way."""
        if not self._has_disk() or self._standing.credentials_refused():
            return 0
        # Where rules take its place, mails do not wait for Gemini.
        services = ["notion", *(["gemini"] if self._config.llm_order == ("gemini",) else [])]
        states = {self._circuits.state_of(service).state for service in services}
        if CircuitState.OPEN in states:
            return 0
        return 1 if CircuitState.HALF_OPEN in states else AT_ONCE

    def feed(self) -> int:
        """Make jobs of mails that wait, oldest first; returns of how many."""
        with self._engine.reading() as tx:
            if not waiting_emails(tx, source=GMAIL, limit=1):
                return 0
        room = self.room()
        if room <= 0:
            return 0
        mailbox = self._config.mailbox
        with self._engine.transaction() as tx:
            open_mailbox(tx, mailbox)  # locks it: of two processes one takes a mail
            left = room - count_under_way(tx, source=GMAIL)
            rows = waiting_emails(tx, source=GMAIL, limit=left) if left > 0 else []
            for row in rows:
                job = self._engine.submit(
                    EMAIL,
                    {"email_id": row.email_id},
                    key=row.email_id,
                    key_alone=True,
                    owner=row.mailbox,
                    connection=tx.connection,
                )
                begin_run(tx, row.email_id, job_id=job.id, version=1)
        if rows:
            self._engine.store.announce_due()
        return len(rows)

    def _has_disk(self) -> bool:
        least = self._config.data_min_free_bytes
        if least <= 0:
            return True
        folder = _existing(self._config.data_dir)
        try:
            return shutil.disk_usage(folder).free >= least
        except OSError:
            return False


def _existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    found = folder.absolute()
    while not found.exists() and found.parent != found:
        found = found.parent
    return found
