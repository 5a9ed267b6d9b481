"""How mails and corrections come into the flow besides the mailbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collabiq.failures.payloads import CORRECTION, EMAIL, UPLOAD
from collabiq.refusals import EmailNotFound, WrongState
from collabiq.rows import (
    GMAIL,
    EmailRow,
    add_upload,
    begin_run,
    get_email,
    notice_emails,
    set_correction,
)
from collabiq.rows import UPLOAD as SENT_IN
from holdfast import Holdfast, JobState
from holdfast.errors import UnknownJob

_UNDER_WAY = frozenset({"pending", "processing"})
_ENDED = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED})


def receive(engine: Holdfast, raw: bytes, *, email_id: str, mailbox: str) -> bool:
    """Take the bytes of a mail that was sent in; returns whether it is new."""
    with engine.transaction() as tx:
        if not notice_emails(tx, [email_id], mailbox=mailbox, source=SENT_IN):
            return False
        add_upload(tx, email_id, raw)
        job = engine.submit(
            UPLOAD,
            {"email_id": email_id},
            key=email_id,
            key_alone=True,
            owner=mailbox,
            connection=tx.connection,
        )
        begin_run(tx, email_id, job_id=job.id, version=1)
    return True


def process_again(engine: Holdfast, email_id: str) -> str:
    """Run a mail again from the start, and return its job; raises `WrongState` while one runs."""
    # A row follows its job a little later, and the job may have failed meanwhile.
    ended = _ended_job(engine, email_id)
    with engine.transaction() as tx:
        row = get_email(tx, email_id)
        if row is None:
            raise EmailNotFound(email_id)
        if row.status in _UNDER_WAY and (ended is None or row.job_id != ended):
            raise WrongState(f"{email_id} is under way; wait until that has ended")
        version = row.version + 1
        job = engine.submit(
            EMAIL if row.source == GMAIL else UPLOAD,
            {"email_id": email_id},
            key=email_id,
            key_alone=True,
            owner=row.mailbox,
            version=version,
            rerun=True,
            connection=tx.connection,
        )
        begin_run(tx, email_id, job_id=job.id, version=version)
    return job.id


def correct(engine: Holdfast, row: EmailRow, extraction: Mapping[str, Any], *, by: str) -> str:
    """Have a mail's row say what a person says; `extraction` is whole. Returns the job.

    Of two people who correct the same state of a mail, one gets a `ConflictError`.
    """
    if row.status in _UNDER_WAY:
        raise WrongState(f"{row.email_id} is under way; wait until that has ended")
    with engine.transaction() as tx:
        job = engine.submit(
            CORRECTION,
            {"email_id": row.email_id, "extraction": dict(extraction), "by": by},
            key=f"{row.email_id}.{row.version}.{row.correction_id or 'first'}",
            owner=row.mailbox,
            connection=tx.connection,
        )
        set_correction(tx, row.email_id, job_id=job.id)
    return job.id


def _ended_job(engine: Holdfast, email_id: str) -> str | None:
    """Return the job of a mail's last run, if that has ended."""
    with engine.transaction() as tx:
        row = get_email(tx, email_id)
    if row is None or row.job_id is None:
        return None
    try:
        found = engine.job(row.job_id)
    except UnknownJob:
        return row.job_id
    return found.id if found.state in _ENDED else None
