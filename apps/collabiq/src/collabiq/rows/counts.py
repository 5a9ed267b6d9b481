"""How many mails stand how."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from collabiq.rows.emails import STATUSES
from collabiq.tables.times import maybe_from_us, to_us
from holdfast.transactions import Reading, Transaction


class Counts(NamedTuple):
    """How many mails stand how, and what their extraction cost."""

    by_status: dict[str, int]
    usd: float


def counts_since(tx: Reading, since: datetime, *, mailbox: str | None = None) -> Counts:
    """Return how the mails stand that were noticed since an instant."""
    rows = tx.rows(
        "select status, count(*) as n, sum(usd) as usd from collabiq.email"
        " where noticed_at_us >= :since_us"
        " and (cast(:mailbox as text) is null or mailbox = :mailbox) group by status",
        {"since_us": to_us(since), "mailbox": mailbox},
    )
    found = {row["status"]: int(row["n"]) for row in rows}
    usd = sum(float(row["usd"] or 0.0) for row in rows)
    return Counts({status: found.get(status, 0) for status in STATUSES}, usd)


def count_by_status(tx: Reading) -> dict[str, int]:
    """Return how many mails stand how, of all that are kept."""
    rows = tx.rows("select status, count(*) as n from collabiq.email group by status")
    found = {row["status"]: int(row["n"]) for row in rows}
    return {status: found.get(status, 0) for status in STATUSES}


def last_written_at(tx: Transaction) -> datetime | None:
    """Return when a mail last got its row, or None."""
    row = tx.row(
        "select max(updated_at_us) as at_us from collabiq.email"
        " where status in ('processed', 'needs_review')"
    )
    return None if row is None else maybe_from_us(row["at_us"])
