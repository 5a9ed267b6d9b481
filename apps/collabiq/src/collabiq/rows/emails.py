"""Mails as they stand in the tables of this system: every statement about them is here.

Each function takes the transaction that it is part of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from collabiq.rows.kept import listed, next_numbers
from collabiq.tables.times import from_us, maybe_from_us, maybe_us, to_us
from holdfast.transactions import Reading, Transaction

Status = Literal["pending", "processing", "processed", "needs_review", "skipped", "failed"]
STATUSES: Final[tuple[Status, ...]] = (
    "pending",
    "processing",
    "processed",
    "needs_review",
    "skipped",
    "failed",
)
RowState = Literal["none", "wanted", "absent", "found", "created", "updated"]
"""Of a mail's row in Notion: not looked for, to be looked for, not found, there already,
made, or changed."""
GMAIL: Final = "gmail"
UPLOAD: Final = "upload"
_NUMBER: Final = "email"
_EXCERPT: Final = 240
_UNDER_WAY: Final = "('pending', 'processing')"


class EmailRow(NamedTuple):
    """A mail that was noticed."""

    email_id: str
    number: int
    """Rises with every mail, in the order in which they were noticed."""
    mailbox: str
    source: str
    """`gmail`, or `upload` for one that was sent in."""
    version: int
    job_id: str | None
    """The job of its last run; None while it waits for its turn."""
    correction_id: str | None
    """The job of a person's last correction."""
    status: Status
    reason: str | None
    """Why it was skipped, or failed."""
    review: tuple[str, ...]
    """Why a person should look at it."""
    subject: str | None
    sender: str | None
    received_at: datetime | None
    message_id: str | None
    startup_name: str | None
    partner_org: str | None
    person_in_charge: str | None
    happened_on: str | None
    """The day of the collaboration, as `YYYY-MM-DD`."""
    details: str | None
    """The beginning of them, for lists."""
    confidence: float | None
    """The lowest of its fields'."""
    usd: float
    page_id: str | None
    page_url: str | None
    row_state: RowState
    looked_up_at: datetime | None
    """When no row of it was found."""
    writing_since: datetime | None
    """Since when a request may be making its row, or when one ended without an answer."""
    noticed_at: datetime
    updated_at: datetime


def get_email(tx: Reading, email_id: str) -> EmailRow | None:
    """Return a mail, or None."""
    row = tx.row("select * from collabiq.email where email_id = :id", {"id": email_id})
    return None if row is None else _email(row)


def get_emails(tx: Reading, email_ids: Sequence[str]) -> dict[str, EmailRow]:
    """Return some mails by their ids."""
    if not email_ids:
        return {}
    names, values = listed(email_ids)
    rows = tx.rows(f"select * from collabiq.email where email_id in ({names})", values)  # noqa: S608 - placeholders
    return {row["email_id"]: _email(row) for row in rows}


def email_of_job(tx: Reading, job_id: str) -> EmailRow | None:
    """Return the mail whose last run is this job, or None."""
    rows = tx.rows("select * from collabiq.email where job_id = :id limit 1", {"id": job_id})
    return _email(rows[0]) if rows else None


def list_emails(
    tx: Reading,
    *,
    owner: str | None = None,
    status: str | None = None,
    since: datetime | None = None,
    q: str | None = None,
    limit: int = 50,
    before: int | None = None,
) -> list[EmailRow]:
    """Return mails, newest first; `before` is the number after which a page goes on."""
    conditions, values = ["1 = 1"], dict[str, Any](limit=limit)
    if owner is not None:
        conditions.append("mailbox = :owner")
        values["owner"] = owner
    if status is not None:
        conditions.append("status = :status")
        values["status"] = status
    if since is not None:
        conditions.append("coalesce(received_at_us, noticed_at_us) >= :since_us")
        values["since_us"] = to_us(since)
    if before is not None:
        conditions.append("number < :before")
        values["before"] = before
    if q:
        found = " or ".join(
            f"lower(coalesce({column}, '')) like :q escape '!'"
            for column in ("subject", "sender", "startup_name", "partner_org", "email_id")
        )
        conditions.append(f"({found})")
        values["q"] = f"%{_escaped(q.lower())}%"
    where = " and ".join(conditions)
    rows = tx.rows(
        f"select * from collabiq.email where {where} order by number desc limit :limit",  # noqa: S608 - of the texts above
        values,
    )
    return [_email(row) for row in rows]


def notice_emails(
    tx: Transaction, email_ids: Sequence[str], *, mailbox: str, source: str
) -> list[str]:
    """Keep mails that are new, in this order, and return the ids of those that are."""
    known = get_emails(tx, email_ids)
    new = [each for each in dict.fromkeys(email_ids) if each not in known]
    if not new:
        return []
    last = next_numbers(tx, _NUMBER, len(new))
    now_us = to_us(tx.now)
    noticed: list[str] = []
    for number, email_id in enumerate(new, start=last - len(new) + 1):
        noticed += [email_id] * tx.execute(
            "insert into collabiq.email (email_id, number, mailbox, source, version, status,"
            " review, usd, row_state, noticed_at_us, updated_at_us) values (:id, :number,"
            " :mailbox, :source, 1, 'pending', '[]', 0, 'none', :now_us, :now_us)"
            " on conflict (email_id) do nothing",
            {
                "id": email_id,
                "number": number,
                "mailbox": mailbox,
                "source": source,
                "now_us": now_us,
            },
        )
    return noticed


def waiting_emails(tx: Reading, *, source: str, limit: int) -> list[EmailRow]:
    """Return mails that were noticed and have no job yet, oldest first."""
    rows = tx.rows(
        "select * from collabiq.email where status = 'pending' and job_id is null"
        " and source = :source order by number limit :limit",
        {"source": source, "limit": limit},
    )
    return [_email(row) for row in rows]


def count_under_way(tx: Reading, *, source: str) -> int:
    """Return how many mails have a job that has not ended."""
    row = tx.row(
        f"select count(*) as n from collabiq.email where status in {_UNDER_WAY}"  # noqa: S608 - a constant
        " and job_id is not null and source = :source",
        {"source": source},
    )
    return row["n"] if row else 0


def emails_under_way(tx: Reading, *, until: datetime, limit: int) -> list[EmailRow]:
    """Return mails with a job whose rows say that it has not ended, unchanged since `until`."""
    rows = tx.rows(
        f"select * from collabiq.email where status in {_UNDER_WAY} and job_id is not null"  # noqa: S608 - a constant
        " and updated_at_us <= :until_us order by updated_at_us limit :limit",
        {"until_us": to_us(until), "limit": limit},
    )
    return [_email(row) for row in rows]


def begin_run(tx: Transaction, email_id: str, *, job_id: str, version: int) -> None:
    """Have a mail stand as the one of a new run; its row in Notion is to be looked for again."""
    tx.execute(
        "update collabiq.email set job_id = :job_id, version = :version, status = 'pending',"
        " reason = null, row_state = 'none', looked_up_us = null, updated_at_us = :now_us"
        " where email_id = :id",
        {"id": email_id, "job_id": job_id, "version": version, "now_us": to_us(tx.now)},
    )


def set_correction(tx: Transaction, email_id: str, *, job_id: str) -> None:
    """Keep which job has a person's last correction."""
    tx.execute(
        "update collabiq.email set correction_id = :job_id, updated_at_us = :now_us"
        " where email_id = :id",
        {"id": email_id, "job_id": job_id, "now_us": to_us(tx.now)},
    )


def set_status(
    tx: Transaction,
    email_id: str,
    status: Status,
    *,
    reason: str | None = None,
    job_id: str | None = None,
) -> bool:
    """Keep how a mail stands, and why; with `job_id` only where that is its last run."""
    return bool(
        tx.execute(
            "update collabiq.email set status = :status, reason = :reason, updated_at_us = :now_us"
            " where email_id = :id and (cast(:job_id as text) is null or job_id = :job_id)"
            " and (status <> :status or coalesce(reason, '') <> coalesce(:reason, ''))",
            {
                "id": email_id,
                "status": status,
                "reason": reason,
                "job_id": job_id,
                "now_us": to_us(tx.now),
            },
        )
    )


def set_mail(
    tx: Transaction,
    email_id: str,
    *,
    subject: str,
    sender: str,
    received_at: datetime | None,
    message_id: str,
) -> None:
    """Keep what the header of a mail says."""
    tx.execute(
        "update collabiq.email set subject = :subject, sender = :sender,"
        " received_at_us = :received_at_us, message_id = :message_id, status = 'processing',"
        " updated_at_us = :now_us where email_id = :id",
        {
            "id": email_id,
            "subject": subject,
            "sender": sender,
            "received_at_us": maybe_us(received_at),
            "message_id": message_id or None,
            "now_us": to_us(tx.now),
        },
    )


def set_extraction(
    tx: Transaction,
    email_id: str,
    *,
    extraction: Mapping[str, Any],
    confidence: float | None,
    usd: float = 0.0,
) -> None:
    """Keep what lists show of an extraction; what it cost is added to what was paid before."""
    tx.execute(
        "update collabiq.email set startup_name = :startup, partner_org = :partner,"
        " person_in_charge = :person, happened_on = :day, details = :details,"
        " confidence = :confidence, usd = usd + :usd, updated_at_us = :now_us"
        " where email_id = :id",
        {
            "id": email_id,
            "startup": extraction.get("startup_name"),
            "partner": extraction.get("partner_org"),
            "person": extraction.get("person_in_charge"),
            "day": extraction.get("date"),
            "details": (extraction.get("details") or "")[:_EXCERPT] or None,
            "confidence": confidence,
            "usd": float(usd),
            "now_us": to_us(tx.now),
        },
    )


def finish_email(
    tx: Transaction, email_id: str, *, status: Status, review: Sequence[str] = ()
) -> None:
    """Keep that a mail has its row, and why a person should look at it."""
    tx.execute(
        "update collabiq.email set status = :status, reason = null, review = :review,"
        " updated_at_us = :now_us where email_id = :id",
        {
            "id": email_id,
            "status": status,
            "review": json.dumps(list(review), ensure_ascii=False),
            "now_us": to_us(tx.now),
        },
    )


def first_with_message_id(tx: Reading, message_id: str, *, before: int) -> str | None:
    """Return the mail that was noticed first of those with this Message-ID, before a number."""
    rows = tx.rows(
        "select email_id from collabiq.email where message_id = :message_id and number < :before"
        " and status <> 'skipped' order by number limit 1",
        {"message_id": message_id, "before": before},
    )
    return rows[0]["email_id"] if rows else None


def others_of_pair(
    tx: Reading, *, email_id: str, startup_name: str, partner_org: str, since: datetime
) -> list[EmailRow]:
    """Return other mails about the same two companies since an instant, newest first."""
    rows = tx.rows(
        "select * from collabiq.email where startup_name = :startup and partner_org = :partner"
        " and email_id <> :id and page_id is not null"
        " and coalesce(received_at_us, noticed_at_us) >= :since_us order by number desc limit 5",
        {
            "id": email_id,
            "startup": startup_name,
            "partner": partner_org,
            "since_us": to_us(since),
        },
    )
    return [_email(row) for row in rows]


def empty_email(tx: Transaction, email_id: str, *, reason: str) -> None:
    """Remove all that a mail says from the tables; its id stays, so that it is not taken again."""
    tx.execute("delete from collabiq.upload where email_id = :id", {"id": email_id})
    tx.execute(
        "update collabiq.email set status = 'skipped', reason = :reason, review = '[]',"
        " subject = null, sender = null, received_at_us = null, message_id = null,"
        " startup_name = null, partner_org = null, confidence = null, job_id = null,"
        " correction_id = null, updated_at_us = :now_us where email_id = :id",
        {"id": email_id, "reason": reason, "now_us": to_us(tx.now)},
    )


def forget_email(tx: Transaction, email_id: str) -> bool:
    """Remove a mail from the tables."""
    tx.execute("delete from collabiq.upload where email_id = :id", {"id": email_id})
    return bool(tx.execute("delete from collabiq.email where email_id = :id", {"id": email_id}))


def emails_of_owner(tx: Reading, owner: str) -> list[str]:
    """Return the ids of all mails of a mailbox."""
    rows = tx.rows("select email_id from collabiq.email where mailbox = :owner", {"owner": owner})
    return [row["email_id"] for row in rows]


def emails_untouched_since(tx: Reading, until: datetime, *, limit: int) -> list[str]:
    """Return the ids of mails that have not changed since an instant, for what removes them."""
    rows = tx.rows(
        "select email_id from collabiq.email where updated_at_us < :until_us"
        " order by updated_at_us limit :limit",
        {"until_us": to_us(until), "limit": limit},
    )
    return [row["email_id"] for row in rows]


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _email(row: Mapping[str, Any]) -> EmailRow:
    return EmailRow(
        email_id=row["email_id"],
        number=row["number"],
        mailbox=row["mailbox"],
        source=row["source"],
        version=row["version"],
        job_id=row["job_id"],
        correction_id=row["correction_id"],
        status=row["status"],
        reason=row["reason"],
        review=tuple(json.loads(row["review"])),
        subject=row["subject"],
        sender=row["sender"],
        received_at=maybe_from_us(row["received_at_us"]),
        message_id=row["message_id"],
        startup_name=row["startup_name"],
        partner_org=row["partner_org"],
        person_in_charge=row["person_in_charge"],
        happened_on=row["happened_on"],
        details=row["details"],
        confidence=row["confidence"],
        usd=float(row["usd"]),
        page_id=row["page_id"],
        page_url=row["page_url"],
        row_state=row["row_state"],
        looked_up_at=maybe_from_us(row["looked_up_us"]),
        writing_since=maybe_from_us(row["writing_since_us"]),
        noticed_at=from_us(row["noticed_at_us"]),
        updated_at=from_us(row["updated_at_us"]),
    )
