"""The stage that writes a mail's row: one request an attempt, and never two rows.

A row is looked for by its Email ID before it is made, for many mails with one request. That it is
being made is kept before the request is sent: where its outcome is not known, because no answer
came or the worker was killed, the row is looked for again once Notion's index can know of it. What
is left to do is raised as `RetryLater`, so that every request counts in the rate of Notion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from collabiq.failures.errors import ErrorRecords
from collabiq.flow.matching import nothing_fits
from collabiq.flow.steps import in_steps
from collabiq.notion.client import MAX_LOOKUPS, NotionApi, Row
from collabiq.notion.errors import (
    NotionFailure,
    NotionInvalid,
    NotionNotFound,
    NotionUnauthorized,
)
from collabiq.notion.text import body_blocks, text_objects
from collabiq.rows import (
    EmailRow,
    Status,
    begin_writing,
    end_writing,
    finish_email,
    get_email,
    get_replacement,
    lose_page,
    note_absent,
    note_still_absent,
    replaced_by,
    set_extraction,
    set_page,
    set_replacement,
    set_status,
    wanted_pages,
)
from collabiq.services.companies import Companies
from collabiq.services.directory import Directory, read_schema
from collabiq.services.tools import NOTION_KEY, Tools
from collabiq.settings.config import Config
from collabiq.shapes import WriteResult
from collabiq.tables.times import from_us
from holdfast import GiveUp, Holdfast, RetryLater

OURSELVES: Final = "collabiq"
LOOKUP_LIFETIME: Final = timedelta(minutes=10)
"""For which a lookup that found nothing counts."""
_NO_SUCH_COLUMN: Final = "is not a property that exists"
_IN_TRASH: Final = "archived"
"""Stands in the refusal to change a row that is in the trash."""
_BUSY_S: Final = 1.0
_MAX_BLOCKS: Final = 100


class ToWrite(NamedTuple):
    """What a mail's row is to be."""

    email_id: str
    job_id: str
    database_id: str
    properties: Mapping[str, Any]
    text: str
    review: Sequence[str]
    similar: Sequence[str]
    new_companies: Mapping[str, str] = MappingProxyType({})
    """Names for which companies are made before the row is, by their fields."""
    corrected: bool = False
    """Whether a person says what the row is to be: then one that is there is changed."""


class Writer:
    """Writes rows."""

    def __init__(
        self,
        engine: Holdfast,
        tools: Tools,
        config: Config,
        directory: Directory,
        errors: ErrorRecords,
    ) -> None:
        self._engine, self._tools, self._config = engine, tools, config
        self._directory, self._errors = directory, errors
        self.companies = Companies(engine, tools, config, directory)
        self._lag = timedelta(seconds=config.notion_lookup_lag_s)
        self._missing: set[str] = set()

    def write(self, mail: ToWrite) -> WriteResult:
        """Do the next thing; raises `RetryLater` until the row is there."""
        return in_steps(self._engine, lambda: self._write(mail))

    def _write(self, mail: ToWrite) -> WriteResult:
        api, key = self._tools.notion()
        try:
            return self._next(api, self._replaced(mail))
        except NotionUnauthorized:
            if self._tools.replaced(NOTION_KEY, refused=key):
                raise RetryLater(after=0, reason="the key of Notion was replaced") from None
            raise

    def note_missing(self, mail_id: str, columns: Sequence[str]) -> None:
        """Write a record of each column that is missing, once while this process runs."""
        for column in columns:
            if column not in self._missing:
                self._missing.add(column)
                self._errors.record(
                    f"schema mismatch: the database of rows has no column {column!r} that fits",
                    at=self._now(),
                    operation="notion_write",
                    email_id=mail_id,
                    error_type="SchemaMismatch",
                )

    def keep_correction(self, email_id: str, extraction: Mapping[str, Any]) -> None:
        """Have lists show what a person said."""
        with self._engine.transaction() as tx:
            set_extraction(tx, email_id, extraction=extraction, confidence=1.0)

    def _next(self, api: NotionApi, mail: ToWrite) -> WriteResult:
        self._give_columns(api, mail.database_id)
        row = self._row(mail.email_id)
        if row.writing_since is not None:
            return self._resume(api, mail, row.writing_since)
        match row.row_state:
            case "created" | "updated" if not mail.corrected:
                outcome = "created" if row.row_state == "created" else "updated"
                return self._finish(mail, row.page_id, row.page_url, outcome)
            case "found" | "created" | "updated" if row.page_id is not None:
                return self._update(api, mail, row.page_id)
            case "absent" if self._counts(row):
                return self._create(api, mail)
            case _:
                return self._look_up(api, mail)

    def _resume(self, api: NotionApi, mail: ToWrite, since: datetime) -> WriteResult:
        """Find out what became of a request without an answer, once that can be known."""
        left_s = (since + self._lag - self._now()).total_seconds()
        if left_s > 0:
            raise RetryLater(after=left_s, reason="a request to Notion may have made the row")
        found = self._find(api, mail, [mail.email_id])
        if mail.email_id in found:
            return self._adopt(mail, found[mail.email_id])
        with self._engine.transaction() as tx:
            note_still_absent(tx, mail.email_id, writing_since=since)
        raise RetryLater(after=0, reason="the row is not there, and is made next")

    def _look_up(self, api: NotionApi, mail: ToWrite) -> WriteResult:
        with self._engine.reading() as tx:
            others = wanted_pages(tx, mailbox=self._config.mailbox, limit=MAX_LOOKUPS)
        ids = list(dict.fromkeys([mail.email_id, *others]))[:MAX_LOOKUPS]
        found = self._find(api, mail, ids)
        with self._engine.transaction() as tx:
            note_absent(tx, [each for each in ids if each not in found])
        if mail.email_id in found:
            return self._adopt(mail, found[mail.email_id])
        raise RetryLater(after=0, reason="the row is not there, and is made next")

    def _adopt(self, mail: ToWrite, found: Row) -> WriteResult:
        """Take a row that is there; it is changed with the next request where that is wanted."""
        with self._engine.transaction() as tx:
            set_page(tx, mail.email_id, page_id=found.id, page_url=found.url, state="found")
        if mail.corrected or self._config.notion_duplicate_strategy == "update":
            raise RetryLater(after=0, reason="the row is there, and is changed next")
        return self._finish(mail, found.id, found.url, "adopted")

    def _update(self, api: NotionApi, mail: ToWrite, page_id: str) -> WriteResult:
        if not mail.corrected and self._config.notion_duplicate_strategy != "update":
            return self._finish(mail, page_id, self._row(mail.email_id).page_url, "adopted")
        mail = self._with_companies(api, mail)
        try:
            row = self._without_lost_columns(
                mail, lambda: api.update(page_id, properties=mail.properties)
            )
        except (NotionNotFound, NotionInvalid) as error:
            if isinstance(error, NotionInvalid) and _IN_TRASH not in str(error):
                raise
            with self._engine.transaction() as tx:
                lose_page(tx, mail.email_id)
            raise RetryLater(after=0, reason="the row is gone, and looked for again") from None
        with self._engine.transaction() as tx:
            set_page(tx, mail.email_id, page_id=row.id, page_url=row.url, state="updated")
        return self._finish(mail, row.id, row.url, "updated")

    def _create(self, api: NotionApi, mail: ToWrite) -> WriteResult:
        mail = self._with_companies(api, mail)
        with self._engine.transaction() as tx:
            since = begin_writing(tx, mail.email_id, looked_up_since=tx.now - LOOKUP_LIFETIME)
        if since is None:
            raise RetryLater(after=_BUSY_S, reason="another worker makes the row")
        if self._lag and self._now() - since > self._lag / 2:
            # A worker that stood still: another may have taken the mail over by now.
            raise RetryLater(after=_BUSY_S, reason="it took too long to begin")
        try:
            row = self._without_lost_columns(
                mail,
                lambda: api.create(
                    mail.database_id, properties=mail.properties, children=self._blocks(mail)
                ),
                since=since,
            )
        except NotionFailure as error:
            with self._engine.transaction() as tx:
                unknown = error.unknown_outcome
                end_writing(tx, mail.email_id, writing_since=since, unknown_outcome=unknown)
            raise
        with self._engine.transaction() as tx:
            set_page(tx, mail.email_id, page_id=row.id, page_url=row.url, state="created")
        return self._finish(mail, row.id, row.url, "created")

    def _without_lost_columns(
        self, mail: ToWrite, call: Callable[[], Row], *, since: datetime | None = None
    ) -> Row:
        """Call; where a column is not there any more, the row is written without it next."""
        try:
            return call()
        except NotionInvalid as error:
            column = error.property
            lost = _NO_SUCH_COLUMN in str(error) and column in mail.properties
            if not lost or column is None or not self._may_drop(mail.job_id):
                raise
            self._drop(mail, column, since)
            raise RetryLater(after=0, reason=f"the column {column} is gone") from None

    def _may_drop(self, job_id: str) -> bool:
        """Return whether nobody else has said what the row is to be."""
        with self._engine.reading() as tx:
            return replaced_by(tx, job_id) in {None, OURSELVES}

    def _drop(self, mail: ToWrite, column: str, since: datetime | None) -> None:
        kept = {name: value for name, value in mail.properties.items() if name != column}
        review = self._config.notion_fields["needs_review"]
        if review in kept:
            kept[review] = {"checkbox": True}
        document = {
            "email_id": mail.email_id,
            "database_id": mail.database_id,
            "properties": kept,
            "lost_columns": sorted({*mail.review, f"the column {column} is missing"}),
        }
        with self._engine.transaction() as tx:
            set_replacement(tx, mail.job_id, document, by=OURSELVES)
            if since is not None:
                end_writing(tx, mail.email_id, writing_since=since, unknown_outcome=False)
        self._directory.forget_columns()
        self.note_missing(mail.email_id, [column])

    def _replaced(self, mail: ToWrite) -> ToWrite:
        """Return what to write, as a person or this stage has changed it since."""
        with self._engine.reading() as tx:
            found = get_replacement(tx, mail.job_id)
        if found is None or not isinstance(found.get("properties"), Mapping):
            return mail
        return mail._replace(
            properties=found["properties"],
            review=found.get("lost_columns", mail.review),
            new_companies={},
        )

    def _with_companies(self, api: NotionApi, mail: ToWrite) -> ToWrite:
        """Return what to write with its new companies, which are made where they are not there."""
        if not mail.new_companies:
            return mail
        properties, review = dict(mail.properties), list(mail.review)
        for field, name in mail.new_companies.items():
            found = self.companies.get(api, name)
            if found is None:
                continue
            properties[self._config.notion_fields[field]] = {"relation": [{"id": found.id}]}
            why = "was made" if found.made else "is newer than the lists"
            doubt = nothing_fits(field, name)
            review = [f"the company {name} {why}" if each == doubt else each for each in review]
        document = {
            "email_id": mail.email_id,
            "database_id": mail.database_id,
            "properties": properties,
            "lost_columns": review,
        }
        with self._engine.transaction() as tx:
            set_replacement(tx, mail.job_id, document, by=OURSELVES)
        return mail._replace(properties=properties, review=review, new_companies={})

    def _find(self, api: NotionApi, mail: ToWrite, ids: Sequence[str]) -> dict[str, Row]:
        column = self._config.notion_fields["email_id"]
        return api.find(mail.database_id, column=column, email_ids=ids)

    def _finish(
        self, mail: ToWrite, page_id: str | None, url: str | None, outcome: str
    ) -> WriteResult:
        status: Status = "needs_review" if mail.review else "processed"
        with self._engine.transaction() as tx:
            finish_email(tx, mail.email_id, status=status, review=mail.review)
        return {
            "outcome": outcome,  # type: ignore[typeddict-item]
            "page_id": page_id,
            "url": url,
            "status": status,
            "reason": None,
            "review": list(mail.review),
        }

    def _blocks(self, mail: ToWrite) -> list[dict[str, Any]]:
        blocks = body_blocks(mail.text)
        with self._engine.reading() as tx:
            rows = [get_email(tx, each) for each in mail.similar]
        urls = [row.page_url for row in rows if row is not None and row.page_url]
        if not urls:
            return blocks
        note = text_objects("May be the same as " + ", ".join(urls))
        first = {"object": "block", "type": "paragraph", "paragraph": {"rich_text": note}}
        return [first, *blocks[:-1]] if len(blocks) >= _MAX_BLOCKS else [first, *blocks]

    def _give_columns(self, api: NotionApi, database_id: str) -> None:
        """Have the client know the data source, as it was read for all."""
        with self._engine.reading() as tx:
            found = read_schema(tx)
        if found is not None and found[0].database_id == database_id:
            api.remember(found[0])

    def _counts(self, row: EmailRow) -> bool:
        found_at = row.looked_up_at
        return found_at is not None and self._now() - found_at <= LOOKUP_LIFETIME / 2

    def _row(self, email_id: str) -> EmailRow:
        with self._engine.reading() as tx:
            row = get_email(tx, email_id)
        if row is None:
            raise GiveUp("NOT_FOUND", "this mail was forgotten")
        return row

    def _now(self) -> datetime:
        return from_us(self._engine.clock.now())


def skip_mail(engine: Holdfast, *, email_id: str, job_id: str, reason: str) -> WriteResult:
    """Keep that nothing is written for a mail, and why."""
    with engine.transaction() as tx:
        set_status(tx, email_id, "skipped", reason=reason, job_id=job_id)
    return {
        "outcome": "skipped",
        "page_id": None,
        "url": None,
        "status": "skipped",
        "reason": reason,
        "review": [],
    }
