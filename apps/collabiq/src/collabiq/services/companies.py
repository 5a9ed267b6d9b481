"""Companies that are made for names nobody has: one request an attempt, and never two of a name.

A company is looked for by its exact title before it is made. How far that has come is kept for
all mails of the name, and that it is being made before the request is sent: where the outcome is
not known, it is looked for again once Notion's index can know of it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from collabiq.mail.text import one_line
from collabiq.match.names import company_key
from collabiq.notion.client import NotionApi, Row
from collabiq.notion.errors import NotionFailure
from collabiq.notion.properties import MAX_TITLE
from collabiq.notion.schema import Source
from collabiq.notion.text import text_objects
from collabiq.records.retry_configs import NOTION_RETRY_CONFIG
from collabiq.rows import Listed, get_listed, next_numbers, replace_listed, set_listed
from collabiq.services.directory import LISTS_LIFETIME, Directory, read_company_schema
from collabiq.services.tools import COMPANIES_DATABASE, Tools
from collabiq.settings.config import Config
from collabiq.tables.times import from_us
from holdfast import Holdfast, RetryLater
from holdfast.transactions import Transaction

# States of a company, by name: not found at Notion, being created by a request, created or not by a
# request without an answer, and there.
ABSENT: Final = "absent"
WRITING: Final = "writing"
UNKNOWN: Final = "unknown"
MADE: Final = "made"
_LOCK: Final = "company"
_BUSY_S: Final = 1.0
_BUSY: Final = "another worker is about the same company"


class KnownCompany(NamedTuple):
    """A company that was not in the lists when a mail was matched."""

    id: str
    made: bool
    """Whether it was created here, and not added to Notion by a person since."""


class _Wanted(NamedTuple):
    """A company that is to be there, and where."""

    title: str
    key: str
    source: Source
    column: str


class Companies:
    """Makes companies."""

    def __init__(
        self, engine: Holdfast, tools: Tools, config: Config, directory: Directory
    ) -> None:
        self._engine, self._tools, self._config = engine, tools, config
        self._directory = directory
        self._lag = timedelta(seconds=config.notion_lookup_lag_s)
        # A request of another mail's worker may be under way for as long as it is waited for.
        self._patience = {
            WRITING: timedelta(seconds=NOTION_RETRY_CONFIG.timeout) + self._lag,
            UNKNOWN: self._lag,
        }

    def get(self, api: NotionApi, name: str) -> KnownCompany | None:
        """Return the company of a name, or None where none can be made or several fit now.

        Raises `RetryLater` until it is there.
        """
        title = one_line(name, limit=MAX_TITLE)
        database_id = self._tools.maybe_secret(COMPANIES_DATABASE)
        if not title or database_id is None:
            return None
        key = f"company {company_key(title)}"
        with self._engine.reading() as tx:
            kept = get_listed(tx, key)
        state = None if kept is None else kept.document["state"]
        is_absent = kept is not None and state == ABSENT and self._is_new(kept)
        if kept is not None and (is_absent or state in self._patience):
            # As the mail spells it that came first: another spelling would be another title.
            title = kept.document["title"]
        if kept is not None and state == MADE and self._is_new(kept):
            return KnownCompany(kept.document["id"], kept.document["made"])
        if kept is not None and state in self._patience:
            left_s = (kept.read_at + self._patience[state] - self._now()).total_seconds()
            if left_s > 0:
                wait_s = min(left_s, _BUSY_S) if state == WRITING else left_s
                raise RetryLater(after=wait_s, reason="a request may have made the company")
        else:
            match = self._directory.current().company_names.match(title)
            if match.ambiguous:
                return None
            if match.found is not None:
                return KnownCompany(match.found.id, made=False)
        source = self._source(database_id)
        api.remember(source)
        column = source.required("title", self._config.notion_fields).name
        wanted = _Wanted(title, key, source, column)
        if kept is not None and is_absent:
            raise self._create(api, wanted, kept)
        raise self._look_up(api, wanted, kept)

    def _look_up(self, api: NotionApi, wanted: _Wanted, kept: Listed | None) -> RetryLater:
        found = api.find_titled(wanted.source.database_id, column=wanted.column, title=wanted.title)
        if found is not None:
            begun = kept is not None and kept.document["state"] in self._patience
            self._keep(wanted.key, found, made=begun)
            return RetryLater(after=0, reason="the company is there")
        self._move(wanted, kept, ABSENT)
        return RetryLater(after=0, reason="the company is not there, and is made next")

    def _create(self, api: NotionApi, wanted: _Wanted, kept: Listed) -> RetryLater:
        begun = self._move(wanted, kept, WRITING)
        if self._lag and self._now() - begun.read_at > self._lag / 2:
            # A worker that stood still: another may look for the company by now.
            return RetryLater(after=_BUSY_S, reason="it took too long to begin")
        title = {"title": text_objects(wanted.title)}
        try:
            row = api.create(wanted.source.database_id, properties={wanted.column: title})
        except NotionFailure as error:
            self._move(wanted, begun, UNKNOWN if error.unknown_outcome else ABSENT)
            raise
        self._keep(wanted.key, row, made=True)
        return RetryLater(after=0, reason="the company was made")

    def _source(self, database_id: str) -> Source:
        """Return the columns of companies; has them read where that was not done yet."""
        with self._engine.reading() as tx:
            found = read_company_schema(tx)
        if found is None or found.database_id != database_id:
            self._directory.forget_columns()
            self._directory.current()
            raise RetryLater(after=_BUSY_S, reason="the columns of companies are being read")
        return found

    def _keep(self, key: str, row: Row, *, made: bool) -> None:
        with self._engine.transaction() as tx:
            _lock(tx)
            set_listed(tx, key, {"state": MADE, "id": row.id, "made": made})
            self._directory.learn(tx, row, self._config)

    def _move(self, wanted: _Wanted, before: Listed | None, state: str) -> Listed:
        """Store the next state, unless another worker did since `before` was read."""
        document: dict[str, Any] = {"state": state, "title": wanted.title}
        with self._engine.transaction() as tx:
            _lock(tx)
            if not replace_listed(tx, wanted.key, document, before=before):
                raise RetryLater(after=_BUSY_S, reason=_BUSY)
            return Listed(document, tx.now)

    def _is_new(self, kept: Listed) -> bool:
        return self._now() - kept.read_at <= LISTS_LIFETIME / 2

    def _now(self) -> datetime:
        return from_us(self._engine.clock.now())


def _lock(tx: Transaction) -> None:
    """Have nobody else change what is known of companies before the commit."""
    next_numbers(tx, _LOCK, 1)
