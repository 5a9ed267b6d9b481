"""Figures of collabiq for Prometheus, and what needs a person in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from collabiq.rows import GMAIL, MailboxRow, count_by_status, counts_since, get_mailbox
from collabiq.rows import waiting_emails as waiting
from collabiq.services.directory import read_schema
from collabiq.settings.config import Config
from holdfast import Holdfast
from holdfast.systems import Figure, Need

LATE_AFTER: Final = timedelta(minutes=5)
"""A mailbox that was not polled for so long needs a person, unless polls are rarer."""
LATE_POLLS: Final = 4
HEALTH: Final = "/collabiq/#health"
REVIEW: Final = "/collabiq/#needs-review"
SIGN_IN: Final = "collabiq gmail login"
_MEBIBYTE: Final = 1024 * 1024
_US: Final = 1_000_000


class _Seen(NamedTuple):
    """What was read, in one transaction."""

    now: datetime
    box: MailboxRow | None
    by_status: dict[str, int]
    missing: list[str]
    waiting_since: datetime | None


class Observing:
    """What of the system in this process people and Prometheus are shown."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def needs(self, engine: Holdfast) -> Iterable[Need]:
        """Return what needs a person, and what to do about each."""
        seen = self._seen(engine)
        found = [self._token(seen), self._poll(seen), self._room(), *self._columns(seen)]
        return [each for each in (*found, _reviews(seen)) if each is not None]

    def figures(self, engine: Holdfast) -> Iterable[Figure]:
        """Return the figures of collabiq."""
        seen = self._seen(engine)
        with engine.transaction() as tx:
            midnight = seen.now.replace(hour=0, minute=0, second=0, microsecond=0)
            today = counts_since(tx, midnight)
        box = seen.box
        figures = [
            *(
                Figure("collabiq_emails", "Mails that are kept", "gauge", count, {"status": status})
                for status, count in seen.by_status.items()
            ),
            *(
                Figure(
                    "collabiq_emails_today", "Mails of today", "gauge", count, {"status": status}
                )
                for status, count in today.by_status.items()
            ),
            Figure("collabiq_cost_today_usd", "Cost of today's extractions", "gauge", today.usd),
            Figure(
                "collabiq_poll_age_seconds",
                "How long ago the mailbox was last polled with success",
                "gauge",
                _age(seen.now, None if box is None else box.polled_at),
            ),
            Figure(
                "collabiq_oldest_pending_seconds",
                "How long the oldest mail has waited for its turn",
                "gauge",
                _age(seen.now, seen.waiting_since),
            ),
            Figure(
                "collabiq_token_refused",
                "Whether Google refuses the credentials of the mailbox",
                "gauge",
                float(box is not None and box.refused_grant is not None),
            ),
            Figure(
                "collabiq_columns_missing",
                "Columns that the table of rows lacks",
                "gauge",
                len(seen.missing),
            ),
            Figure("collabiq_data_free_bytes", "Room for files", "gauge", self._free() or 0),
        ]
        if self._config.gmail_topic is not None:
            until = None if box is None else box.watched_until
            left_s = 0.0 if until is None else max((until - seen.now).total_seconds(), 0.0)
            figures.append(
                Figure(
                    "collabiq_watch_left_seconds",
                    "For how long Gmail notifies of new mails",
                    "gauge",
                    left_s,
                )
            )
        return figures

    def _seen(self, engine: Holdfast) -> _Seen:
        config = self._config
        now = datetime.fromtimestamp(engine.clock.now() / _US, UTC)
        with engine.transaction() as tx:
            box = get_mailbox(tx, config.email_address) if config.email_address else None
            schema = read_schema(tx)
            oldest = waiting(tx, source=GMAIL, limit=1)
            return _Seen(
                now,
                box,
                count_by_status(tx),
                [] if schema is None else schema[0].missing(config.notion_fields),
                oldest[0].noticed_at if oldest else None,
            )

    def _token(self, seen: _Seen) -> Need | None:
        if seen.box is None or seen.box.refused_grant is None:
            return None
        return Need(
            subject="collabiq: credentials of Gmail",
            sentence="Google refuses the credentials of the mailbox; no mail is fetched.",
            advice="Sign in again with `collabiq gmail login`; then everything since is fetched.",
            label="Look at the health",
            path=HEALTH,
            command=SIGN_IN,
            urgency="critical",
            since=seen.box.polled_at,
        )

    def _poll(self, seen: _Seen) -> Need | None:
        box, late_after = seen.box, max(LATE_AFTER, self._interval * LATE_POLLS)
        if box is None or box.refused_grant is not None or box.polled_at is None:
            return None
        if seen.now - box.polled_at <= late_after:
            return None
        minutes = int((seen.now - box.polled_at).total_seconds() // 60)
        return Need(
            subject="collabiq: polls",
            sentence=f"The mailbox has not been polled for {minutes} minutes.",
            advice="See what the last poll failed of, whether a breaker is open, and whether "
            "`holdfast up` runs with its services.",
            label="Look at the health",
            path=HEALTH,
            command="collabiq status",
            urgency="critical",
            since=box.polled_at,
        )

    def _room(self) -> Need | None:
        free, least = self._free(), self._config.data_min_free_bytes
        if free is None or least <= 0 or free >= least:
            return None
        return Need(
            subject="collabiq: room for files",
            sentence=f"{free // _MEBIBYTE} MB are left for {self._config.data_dir}, and "
            f"{least // _MEBIBYTE} are needed; no new mail is taken.",
            advice="Make room there. Mails wait at Gmail, and files follow.",
            label="Look at the health",
            path=HEALTH,
            urgency="critical",
        )

    def _columns(self, seen: _Seen) -> list[Need]:
        if not seen.missing:
            return []
        names = ", ".join(seen.missing[:5])
        return [
            Need(
                subject="collabiq: columns of Notion",
                sentence=f"The table of rows lacks {names}; rows are written without.",
                advice="Add the columns in Notion, or name others with NOTION_FIELD_MAP; "
                "`collabiq notion schema` shows what is there.",
                label="Look at the health",
                path=HEALTH,
                command="collabiq notion schema",
                count=len(seen.missing),
            )
        ]

    @property
    def _interval(self) -> timedelta:
        return timedelta(seconds=self._config.poll_interval_s)

    def _free(self) -> int | None:
        """Return how many bytes are free where files are kept, or None where nobody knows."""
        folder = self._config.data_dir.absolute()
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return _free_bytes(folder)


def _free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _reviews(seen: _Seen) -> Need | None:
    count = seen.by_status.get("needs_review", 0)
    if not count:
        return None
    one, many = "1 mail waits for somebody to look at it.", f"{count} mails wait to be looked at."
    return Need(
        subject="collabiq: reviews",
        sentence=one if count == 1 else many,
        advice="Correct what is wrong, or process it again; the rows are in Notion already.",
        label="Review",
        path=REVIEW,
        command="collabiq email list --status needs_review",
        count=count,
    )


def _age(now: datetime, since: datetime | None) -> float:
    return 0.0 if since is None else max((now - since).total_seconds(), 0.0)
