"""Mailboxes as they are known, and what was read of Notion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from collabiq.tables.times import from_us, maybe_from_us, maybe_us, to_us
from holdfast.transactions import Reading, Transaction


class MailboxRow(NamedTuple):
    """A mailbox that is watched."""

    mailbox: str
    history_id: str | None
    """Up to where it is known; None before the first poll."""
    good_at: datetime | None
    poll_id: str | None
    """The job of the poll that is under way, or was last."""
    polls: int
    """How many polls there were."""
    polled_at: datetime | None
    """When a poll last went well."""
    found: int | None
    """How many mails it found that were new."""
    kind: str | None
    """`history` or `full`."""
    next_look_at: datetime | None
    """When it is to be looked at again; None for at once."""
    looking_until: datetime | None
    """Until when a process has it for itself to look at."""
    refused_grant: str | None
    """The fingerprint of credentials that Google has refused for good."""
    watched_until: datetime | None
    """Until when Gmail tells of new mails."""


class Listed(NamedTuple):
    """A document that was read of Notion, and when."""

    document: Any
    read_at: datetime


def open_mailbox(tx: Transaction, mailbox: str) -> MailboxRow:
    """Return a mailbox; it is made where it is not known, and locked until the commit."""
    rows = tx.rows(
        "insert into collabiq.mailbox as known (mailbox, polls) values (:mailbox, 0)"
        " on conflict (mailbox) do update set polls = known.polls returning *",
        {"mailbox": mailbox},
    )
    return _mailbox(rows[0])


def get_mailbox(tx: Reading, mailbox: str) -> MailboxRow | None:
    """Return a mailbox, or None."""
    row = tx.row("select * from collabiq.mailbox where mailbox = :mailbox", {"mailbox": mailbox})
    return None if row is None else _mailbox(row)


def begin_poll(tx: Transaction, mailbox: str, *, before: str | None, poll_id: str) -> bool:
    """Have a poll be the one that counts, unless another has begun after `before`."""
    return bool(
        tx.execute(
            "update collabiq.mailbox set poll_id = :poll_id, polls = polls + 1"
            " where mailbox = :mailbox"
            " and coalesce(poll_id, '') = coalesce(:before, '')",
            {"mailbox": mailbox, "poll_id": poll_id, "before": before},
        )
    )


def finish_poll(
    tx: Transaction,
    mailbox: str,
    *,
    poll_id: str,
    before: str | None,
    history_id: str,
    found: int,
    kind: str,
) -> bool:
    """Move to where a poll has come; False where another has moved since, or this one is over."""
    return bool(
        tx.execute(
            "update collabiq.mailbox set history_id = :history_id, good_at_us = :now_us,"
            " polled_at_us = :now_us, found = :found, kind = :kind where mailbox = :mailbox"
            " and poll_id = :poll_id and coalesce(history_id, '') = coalesce(:before, '')",
            {
                "mailbox": mailbox,
                "poll_id": poll_id,
                "before": before,
                "history_id": history_id,
                "found": found,
                "kind": kind,
                "now_us": to_us(tx.now),
            },
        )
    )


def begin_look(tx: Transaction, mailbox: str, *, until: datetime) -> bool:
    """Reserve a mailbox for a look at it, where one is due and nobody else has it."""
    open_mailbox(tx, mailbox)
    return bool(
        tx.execute(
            "update collabiq.mailbox set looking_until_us = :until_us where mailbox = :mailbox"
            " and coalesce(next_look_us, 0) <= :now_us"
            " and coalesce(looking_until_us, 0) <= :now_us",
            {"mailbox": mailbox, "until_us": to_us(until), "now_us": to_us(tx.now)},
        )
    )


def end_look(
    tx: Transaction,
    mailbox: str,
    *,
    until: datetime,
    next_at: datetime,
    before: str | None = None,
    history_id: str | None = None,
) -> None:
    """Give a mailbox back after a look; with `history_id` nothing was new up to there."""
    mine: dict[str, str | int] = {"mailbox": mailbox, "until_us": to_us(until)}
    if history_id is not None:
        tx.execute(
            "update collabiq.mailbox set history_id = :history_id, good_at_us = :now_us,"
            " polled_at_us = :now_us, found = 0, kind = 'history' where mailbox = :mailbox"
            " and looking_until_us = :until_us"
            " and coalesce(history_id, '') = coalesce(:before, '')",
            {**mine, "history_id": history_id, "before": before, "now_us": to_us(tx.now)},
        )
    tx.execute(
        "update collabiq.mailbox set looking_until_us = null, next_look_us = :next_us"
        " where mailbox = :mailbox and looking_until_us = :until_us",
        {**mine, "next_us": to_us(next_at)},
    )


def want_poll(tx: Transaction, mailbox: str) -> None:
    """Have a mailbox looked at before its time."""
    open_mailbox(tx, mailbox)
    tx.execute(
        "update collabiq.mailbox set next_look_us = null where mailbox = :mailbox",
        {"mailbox": mailbox},
    )


def refuse_grant(tx: Transaction, mailbox: str, fingerprint: str | None) -> bool:
    """Keep which credentials Google has refused, or that none are; False where that is known."""
    return bool(
        tx.execute(
            "update collabiq.mailbox set refused_grant = :found where mailbox = :mailbox"
            " and coalesce(refused_grant, '') <> coalesce(:found, '')",
            {"mailbox": mailbox, "found": fingerprint},
        )
    )


def set_watched(tx: Transaction, mailbox: str, *, until: datetime | None) -> None:
    """Keep until when Gmail tells of new mails."""
    open_mailbox(tx, mailbox)
    tx.execute(
        "update collabiq.mailbox set watched_until_us = :until_us where mailbox = :mailbox",
        {"mailbox": mailbox, "until_us": maybe_us(until)},
    )


def forget_mailbox(tx: Transaction, mailbox: str) -> None:
    """Remove what is known of a mailbox."""
    tx.execute("delete from collabiq.mailbox where mailbox = :mailbox", {"mailbox": mailbox})


def get_listed(tx: Reading, name: str) -> Listed | None:
    """Return a document that was read of Notion, or None."""
    row = tx.row("select * from collabiq.directory where name = :name", {"name": name})
    return None if row is None else Listed(json.loads(row["document"]), from_us(row["read_at_us"]))


def set_listed(tx: Transaction, name: str, document: Mapping[str, Any] | list[Any]) -> None:
    """Keep a document that was read of Notion now."""
    tx.execute(
        "insert into collabiq.directory (name, document, read_at_us)"
        " values (:name, :document, :now_us) on conflict (name) do update set"
        " document = excluded.document, read_at_us = excluded.read_at_us",
        {
            "name": name,
            "document": json.dumps(document, ensure_ascii=False),
            "now_us": to_us(tx.now),
        },
    )


def replace_listed(
    tx: Transaction, name: str, document: Mapping[str, Any], *, before: Listed | None
) -> bool:
    """Keep a document unless another took the place of `before`; return whether it was kept.

    Its caller has locked what others may write of this name until the commit.
    """
    if get_listed(tx, name) != before:
        return False
    set_listed(tx, name, document)
    return True


def forget_listed(tx: Transaction, name: str) -> None:
    """Have a document be read of Notion anew."""
    tx.execute("delete from collabiq.directory where name = :name", {"name": name})


def _mailbox(row: Mapping[str, Any]) -> MailboxRow:
    return MailboxRow(
        mailbox=row["mailbox"],
        history_id=row["history_id"],
        good_at=maybe_from_us(row["good_at_us"]),
        poll_id=row["poll_id"],
        polls=row["polls"],
        polled_at=maybe_from_us(row["polled_at_us"]),
        found=row["found"],
        kind=row["kind"],
        next_look_at=maybe_from_us(row["next_look_us"]),
        looking_until=maybe_from_us(row["looking_until_us"]),
        refused_grant=row["refused_grant"],
        watched_until=maybe_from_us(row["watched_until_us"]),
    )
