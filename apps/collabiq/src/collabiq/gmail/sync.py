"""Which mails are new: decided from pages of Gmail's history, or of a query where that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, Protocol

from collabiq.gmail.client import Page, Profile
from collabiq.gmail.errors import GmailNotFound

BACKFILL_DAYS: Final = 7
OVERLAP: Final = timedelta(days=1)
"""By which a full sync begins before the last good one; mails that are known are harmless."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Up to where a mailbox is known, and when that was."""

    history_id: str
    good_at: datetime


@dataclass(frozen=True, slots=True)
class Synced:
    """Ids of mails, oldest first, and the cursor that is true once they are all kept."""

    ids: tuple[str, ...]
    cursor: Cursor
    kind: Literal["history", "full"]


class Mailbox(Protocol):
    """What a sync asks of a mailbox."""

    def profile(self) -> Profile:
        """Return where the history stands."""
        ...

    def history_page(self, start_history_id: str, *, page: str | None = None) -> Page:
        """Return a page of what came since."""
        ...

    def list_page(self, query: str, *, page: str | None = None) -> Page:
        """Return a page of what a query finds."""
        ...


def default_query(address: str) -> str:
    """Return the query for the mails to an address."""
    return f"to:{address} -in:trash -in:spam -from:me"


def full_query(
    query: str, *, cursor: Cursor | None, now: datetime, backfill_days: int = BACKFILL_DAYS
) -> str:
    """Return a query with the instant from which on mails are wanted."""
    since = cursor.good_at - OVERLAP if cursor else now - timedelta(days=backfill_days)
    return f"{query} after:{int(since.timestamp())}".strip()


def from_history(pages: Iterable[Page], *, cursor: Cursor, now: datetime) -> Synced:
    """Return what pages of the history say; the cursor moves to where the last of them stands."""
    ids: dict[str, None] = {}
    history_id = cursor.history_id
    for page in pages:
        ids.update(dict.fromkeys(page.ids))
        history_id = later(history_id, page.history_id)
    return Synced(tuple(ids), Cursor(history_id, now), "history")


def from_list(pages: Iterable[Page], *, history_id: str, now: datetime) -> Synced:
    """Return what pages of a query say; `history_id` is from before the first of them."""
    ids: dict[str, None] = {}
    for page in pages:
        ids.update(dict.fromkeys(page.ids))
    return Synced(tuple(reversed(ids)), Cursor(history_id, now), "full")


def sync(
    mailbox: Mailbox,
    *,
    cursor: Cursor | None,
    query: str,
    now: datetime,
    backfill_days: int = BACKFILL_DAYS,
) -> Synced:
    """Return all that is new since a cursor, to the last page.

    Where there is no cursor, or Gmail has forgotten it, everything of a query is asked for. It is
    the caller's to keep the ids and the cursor in one commit.
    """
    if cursor is not None:
        start = cursor.history_id
        try:
            pages = _all(lambda page: mailbox.history_page(start, page=page))
            return from_history(pages, cursor=cursor, now=now)
        except GmailNotFound:
            pass
    # Before the list: what comes while it is read is in the history after this.
    history_id = mailbox.profile().history_id
    wanted = full_query(query, cursor=cursor, now=now, backfill_days=backfill_days)
    pages = _all(lambda page: mailbox.list_page(wanted, page=page))
    return from_list(pages, history_id=history_id, now=now)


def later(one: str, other: str | None) -> str:
    """Return the later of two points of the history; they are numbers without a limit."""
    if other is None or not other.isdecimal():
        return one
    return other if not one.isdecimal() or int(other) > int(one) else one


def _all(page_of: Callable[[str | None], Page]) -> Iterator[Page]:
    token: str | None = None
    seen: set[str] = set()
    while True:
        page = page_of(token)
        yield page
        token = page.next_page
        if not token or token in seen:
            return
        seen.add(token)
