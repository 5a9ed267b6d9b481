"""Mails as people and programs see them, and what is done to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from collabiq.emails import submitting
from collabiq.emails.corrections import corrected
from collabiq.emails.cursors import number_of, written
from collabiq.emails.forgetting import Forgetting
from collabiq.emails.views import Views
from collabiq.failures.errors import ErrorRecords
from collabiq.inbox.standing import settle
from collabiq.mail import MAX_MAIL_BYTES
from collabiq.mail.headers import looks_like_a_header
from collabiq.records.dlq_entry import is_email_id
from collabiq.refusals import (
    EmailNotFound,
    Invalid,
    NotAMailRefused,
    TooLarge,
    WrongState,
    flaw,
)
from collabiq.rows import (
    STATUSES,
    EmailRow,
    get_email,
    list_emails,
    set_status,
)
from collabiq.services.directory import Directory
from collabiq.settings.config import Config
from collabiq.tables.times import from_us
from holdfast import ConflictError, Holdfast
from holdfast.errors import UnknownJob, UnknownLetter
from holdfast.transactions import Transaction

MAX_LISTED: Final = 200
MAX_SEARCH: Final = 200
_UNDER_WAY: Final = frozenset({"pending", "processing"})
_WRITTEN: Final = frozenset({"processed", "needs_review"})
_FOLLOWS_JOBS: Final = frozenset({"pending", "processing", "failed"})
_MAX_SETTLED: Final = 1_000


class Emails:
    """The mails that were noticed.

    With `owner` only those of that mailbox exist.
    """

    def __init__(
        self, engine: Holdfast, config: Config, *, errors: ErrorRecords | None = None
    ) -> None:
        self._engine, self._config = engine, config
        self._views = Views(engine, errors)
        self._directory = Directory(engine)

    def list(
        self,
        *,
        owner: str | None = None,
        status: str | None = None,
        since: datetime | None = None,
        q: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Return mails, newest first, as `emails`, and as `next` the cursor of the next page.

        Raises `Invalid`, and `InvalidCursor` for the cursor of another list.
        """
        _check_listing(status=status, since=since, q=q, limit=limit)
        if status in _FOLLOWS_JOBS:
            # Rows follow their jobs a little later, and a list has what its items say.
            settle(self._engine, until=from_us(self._engine.clock.now()), limit=_MAX_SETTLED)
        list_key = (owner, status, since.isoformat() if since else None, q)
        before = None if cursor is None else number_of(cursor, list_key=list_key)
        with self._engine.transaction() as tx:
            rows = list_emails(
                tx, owner=owner, status=status, since=since, q=q, limit=limit + 1, before=before
            )
        page = rows[:limit]
        more = len(rows) > limit
        return {
            "emails": [
                item
                for item in map(self._views.item, page)
                if status is None or item["status"] == status
            ],
            "next": written(page[-1].number, list_key=list_key) if more else None,
        }

    def show(self, email_id: str, owner: str | None = None) -> dict[str, Any]:
        """Return all that is known of a mail; raises `EmailNotFound`."""
        return self._views.whole(self._get(email_id, owner), end_user=owner is not None)

    def item(self, email_id: str, owner: str | None = None) -> dict[str, Any]:
        """Return a mail as lists have it; raises `EmailNotFound`."""
        return self._views.item(self._get(email_id, owner))

    def job_id(self, email_id: str, owner: str | None = None) -> str | None:
        """Return the job of a mail's last run; None while it waits for its turn."""
        return self._get(email_id, owner).job_id

    def process(self, email_id: str, *, by: str, owner: str | None = None) -> dict[str, Any]:
        """Run a mail again from the start; raises `WrongState` while it is under way.

        A dead letter of the run before is closed: nobody needs to replay it any more.
        """
        row = self._get(email_id, owner)
        self._check_ended(row)
        if row.status in _UNDER_WAY:
            # Its job has failed, and nobody has looked since.
            with self._engine.transaction() as tx:
                set_status(tx, email_id, "failed", reason=row.reason, job_id=row.job_id)
        with _one_at_a_time(email_id):
            submitting.process_again(self._engine, email_id)
        if row.job_id is not None:
            self._close_letter(row.job_id, f"processed again as version {row.version + 1}", by)
        return self._views.item(self._get(email_id, owner))

    def receive(self, raw: bytes, *, by: str) -> tuple[dict[str, Any], bool]:
        """Take a mail that was sent in, and return it and whether it is new.

        The same bytes are the same mail. Raises `NotAMailRefused` and `TooLarge`.
        """
        del by  # uploads belong to the mailbox, not to the sender
        if len(raw) > MAX_MAIL_BYTES:
            raise TooLarge(MAX_MAIL_BYTES)
        if not looks_like_a_header(raw):
            raise NotAMailRefused
        email_id = hashlib.sha256(raw).hexdigest()
        is_new = submitting.receive(
            self._engine, raw, email_id=email_id, mailbox=self._config.mailbox
        )
        return self._views.item(self._get(email_id, None)), is_new

    def correct(
        self, email_id: str, fields: dict[str, Any], *, by: str, owner: str | None = None
    ) -> dict[str, Any]:
        """Have a person's corrections in the row; raises `Invalid` and `WrongState`.

        Fields that are left out stay as they are.
        """
        row = self._get(email_id, owner)
        self._check_ended(row)
        if self._views.status_of(row) not in _WRITTEN:
            raise WrongState(f"{email_id} has no row that could be corrected; process it first")
        if self._views.is_under_way(row.correction_id):
            raise WrongState(f"{email_id} is being corrected; wait until that has ended")
        found = self._views.results(row)
        extraction = self._corrected(found, fields)
        with _one_at_a_time(email_id):
            submitting.correct(self._engine, row, extraction, by=by)
        return self._views.whole(self._get(email_id, owner), end_user=owner is not None)

    def _corrected(self, found: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return an extraction with a person's fields in it; raises `Invalid`."""
        lists = None if self._config.notion_creates_companies else self._directory.lists()
        try:
            return corrected(
                found.get("extraction") or {},
                fields,
                matched=found.get("match"),
                companies=None if lists is None else lists.company_names,
            )
        except Invalid:
            # A company may have been added a moment ago: the next correction finds it.
            self._directory.refresh()
            raise

    def forget(self, email_id: str, *, by: str) -> dict[str, Any]:
        """Remove what is kept of a mail here; its row in Notion stays."""
        return Forgetting(self._engine, self._config).forget(email_id, by=by)

    def _get(self, email_id: str, owner: str | None) -> EmailRow:
        if not is_email_id(email_id):
            raise Invalid([flaw("/email_id", "has to be 1 to 64 letters, digits, - and _")])
        with self._engine.transaction() as tx:
            return _found(tx, email_id, owner)

    def _check_ended(self, row: EmailRow) -> None:
        if self._views.status_of(row) in _UNDER_WAY:
            raise WrongState(f"{row.email_id} is under way; wait until it has ended")

    def _close_letter(self, job_id: str, why: str, by: str) -> None:
        try:
            self._engine.dead.resolve(job_id, note=why, by=by, unreplayed=True)
        except (UnknownLetter, UnknownJob, ConflictError):
            return  # it did not fail, or is closed already


@contextmanager
def _one_at_a_time(email_id: str) -> Iterator[None]:
    """Refuse the second of two simultaneous changes of a mail."""
    try:
        yield
    except ConflictError as error:
        raise WrongState(f"{email_id} was changed meanwhile; look at it again") from error


def _found(tx: Transaction, email_id: str, owner: str | None) -> EmailRow:
    row = get_email(tx, email_id)
    if row is None or owner not in (None, row.mailbox):
        raise EmailNotFound(email_id)
    return row


def _check_listing(
    *, status: str | None, since: datetime | None, q: str | None, limit: int
) -> None:
    flaws = []
    if status is not None and status not in STATUSES:
        flaws.append(flaw("/status", f"has to be one of {', '.join(STATUSES)}"))
    if since is not None and since.tzinfo is None:
        flaws.append(flaw("/since", "give the offset from UTC as well"))
    if q is not None and len(q) > MAX_SEARCH:
        flaws.append(flaw("/q", f"may have {MAX_SEARCH} characters at most"))
    if type(limit) is not int or not 1 <= limit <= MAX_LISTED:
        flaws.append(flaw("/limit", f"has to be a whole number from 1 to {MAX_LISTED}"))
    if flaws:
        raise Invalid(flaws)
