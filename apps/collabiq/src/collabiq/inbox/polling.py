"""A poll: which mails are new, and up to where the mailbox is known, in one commit."""

from __future__ import annotations

from datetime import datetime

from collabiq.gmail.errors import GrantRevoked
from collabiq.gmail.sync import Cursor, sync
from collabiq.rows import (
    GMAIL,
    MailboxRow,
    finish_poll,
    notice_emails,
    open_mailbox,
    refuse_grant,
)
from collabiq.services.tools import Tools
from collabiq.settings.config import Config
from collabiq.shapes import PollResult
from collabiq.tables.times import from_us
from holdfast import Holdfast


def poll(
    engine: Holdfast,
    tools: Tools,
    config: Config,
    *,
    mailbox: str,
    poll_id: str,
    start_history_id: str | None = None,
) -> PollResult:
    """Keep every mail that is new, to the last page, and with them where the history stands."""
    with engine.transaction() as tx:
        box = open_mailbox(tx, mailbox)
    now = from_us(engine.clock.now())
    try:
        found = sync(
            tools.gmail(),
            cursor=_cursor(box, start_history_id, now),
            query=config.gmail_query,
            now=now,
            backfill_days=config.gmail_backfill_days,
        )
    except GrantRevoked:
        with engine.transaction() as tx:
            refuse_grant(tx, mailbox, tools.credentials().fingerprint())
        raise
    with engine.transaction() as tx:
        open_mailbox(tx, mailbox)
        new = notice_emails(tx, found.ids, mailbox=mailbox, source=GMAIL)
        finish_poll(
            tx,
            mailbox,
            poll_id=poll_id,
            before=box.history_id,
            history_id=found.cursor.history_id,
            found=len(new),
            kind=found.kind,
        )
        refuse_grant(tx, mailbox, None)
    return PollResult(
        kind=found.kind, found=len(found.ids), new=len(new), history_id=found.cursor.history_id
    )


def _cursor(box: MailboxRow, given: str | None, now: datetime) -> Cursor | None:
    if given is not None:
        return Cursor(given, box.good_at or now)
    if box.history_id is None:
        return None
    return Cursor(box.history_id, box.good_at or now)
