"""The row of a mail in Notion: what is known of it, and who may make it.

A state only moves on from where it was read, so that of two workers with one mail one writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from collabiq.rows.emails import RowState
from collabiq.rows.kept import listed
from collabiq.tables.times import to_us
from holdfast.transactions import Reading, Transaction


def want_page(tx: Transaction, email_id: str) -> None:
    """Have the row of a mail looked for with the next lookup, unless more is known of it."""
    tx.execute(
        "update collabiq.email set row_state = 'wanted', updated_at_us = :now_us"
        " where email_id = :id and row_state = 'none'",
        {"id": email_id, "now_us": to_us(tx.now)},
    )


def wanted_pages(tx: Reading, *, mailbox: str, limit: int) -> list[str]:
    """Return the mails whose rows are to be looked for, oldest first."""
    rows = tx.rows(
        "select email_id from collabiq.email where row_state = 'wanted' and mailbox = :mailbox"
        " and writing_since_us is null order by number limit :limit",
        {"mailbox": mailbox, "limit": limit},
    )
    return [row["email_id"] for row in rows]


def note_absent(tx: Transaction, email_ids: Sequence[str]) -> None:
    """Keep that mails have no row, where none was made or begun meanwhile."""
    if not email_ids:
        return
    names, values = listed(email_ids)
    tx.execute(
        f"update collabiq.email set row_state = 'absent', looked_up_us = :now_us"  # noqa: S608 - placeholders
        f" where email_id in ({names}) and writing_since_us is null"
        " and row_state in ('none', 'wanted', 'absent')",
        {"now_us": to_us(tx.now), **values},
    )


def note_still_absent(tx: Transaction, email_id: str, *, writing_since: datetime) -> bool:
    """Keep that a request of unknown outcome has made no row, unless another has begun since."""
    return bool(
        tx.execute(
            "update collabiq.email set row_state = 'absent', looked_up_us = :now_us,"
            " writing_since_us = null where email_id = :id and writing_since_us = :since_us",
            {"id": email_id, "now_us": to_us(tx.now), "since_us": to_us(writing_since)},
        )
    )


def begin_writing(tx: Transaction, email_id: str, *, looked_up_since: datetime) -> datetime | None:
    """Reserve the making of a row, before it is sent; None where another has, or it is too late.

    A lookup before `looked_up_since` does not count any more.
    """
    changed = tx.execute(
        "update collabiq.email set writing_since_us = :now_us, updated_at_us = :now_us"
        " where email_id = :id and row_state = 'absent' and writing_since_us is null"
        " and looked_up_us >= :since_us",
        {"id": email_id, "now_us": to_us(tx.now), "since_us": to_us(looked_up_since)},
    )
    return tx.now if changed else None


def end_writing(
    tx: Transaction, email_id: str, *, writing_since: datetime, unknown_outcome: bool
) -> None:
    """Keep that a request has failed: nothing was made, or nobody knows since now."""
    tx.execute(
        "update collabiq.email set writing_since_us = :next_us where email_id = :id"
        " and writing_since_us = :since_us",
        {
            "id": email_id,
            "since_us": to_us(writing_since),
            "next_us": to_us(tx.now) if unknown_outcome else None,
        },
    )


def set_page(
    tx: Transaction, email_id: str, *, page_id: str, page_url: str, state: RowState
) -> None:
    """Keep which row a mail has."""
    tx.execute(
        "update collabiq.email set page_id = :page_id, page_url = :page_url, row_state = :state,"
        " writing_since_us = null, updated_at_us = :now_us where email_id = :id",
        {
            "id": email_id,
            "page_id": page_id,
            "page_url": page_url,
            "state": state,
            "now_us": to_us(tx.now),
        },
    )


def lose_page(tx: Transaction, email_id: str) -> None:
    """Keep that the row of a mail is not there any more: it is to be looked for again."""
    tx.execute(
        "update collabiq.email set page_id = null, page_url = null, row_state = 'wanted',"
        " looked_up_us = null, updated_at_us = :now_us where email_id = :id",
        {"id": email_id, "now_us": to_us(tx.now)},
    )
