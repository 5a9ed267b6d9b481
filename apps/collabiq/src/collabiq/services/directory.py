"""What was read of Notion for all mails: the columns of rows, companies and people.

They are kept in the database for every process, and read by a job with one request an attempt, so
that each of them counts in the rate of Notion.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from collabiq.failures.payloads import DIRECTORY
from collabiq.match.names import NameIndex, company_index, person_index
from collabiq.notion.client import Row, text_in
from collabiq.notion.errors import NotionForbidden
from collabiq.notion.schema import Column, Source
from collabiq.rows import forget_listed, get_listed, next_numbers, set_listed
from collabiq.services.tools import COMPANIES_DATABASE, ROWS_DATABASE, Tools
from collabiq.settings.config import Config
from collabiq.shapes import DirectoryResult
from collabiq.tables.times import from_us
from holdfast import Holdfast, JobState, RetryLater
from holdfast.classify import Category, ProviderError, Verdict
from holdfast.errors import ConflictError, UnknownJob
from holdfast.transactions import Reading, Transaction

SCHEMA: Final = "schema"
COMPANIES: Final = "companies"
COMPANY_SCHEMA: Final = "company schema"
PEOPLE: Final = "people"
READING: Final = "reading"
READER: Final = "reader"
SCHEMA_LIFETIME: Final = timedelta(hours=24)
LISTS_LIFETIME: Final = timedelta(minutes=10)
_WAIT_S: Final = 0.2
_PATIENCE: Final = timedelta(seconds=10)
"""For which a refusal counts for all mails, before it is tried again."""
_ENDED_BADLY: Final = frozenset({JobState.FAILED, JobState.CANCELLED})


class ListedCompany(NamedTuple):
    """A company of the list."""

    id: str
    name: str
    is_portfolio: bool
    is_affiliate: bool


class Lists(NamedTuple):
    """The columns of rows, and the names that mails are matched with."""

    source: Source
    companies: Mapping[str, ListedCompany]
    company_names: NameIndex
    people_names: NameIndex
    people: Mapping[str, str]
    read_at: tuple[datetime, ...]
    """When each of the three was read."""


class ListsUnavailable(ProviderError):
    """Notion's lists cannot be read, and there are none of before."""


class Directory:
    """The lists, as this process last saw them."""

    def __init__(self, engine: Holdfast) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._known: Lists | None = None

    def lists(self) -> Lists | None:
        """Return the lists that are kept, or None where they were never read."""
        with self._engine.reading() as tx:
            found = {name: get_listed(tx, name) for name in (SCHEMA, COMPANIES, PEOPLE)}
        kept = {name: each for name, each in found.items() if each is not None}
        if len(kept) < len(found):
            return None
        read_at = tuple(each.read_at for each in kept.values())
        with self._lock:
            if self._known is None or self._known.read_at != read_at:
                documents = {name: each.document for name, each in kept.items()}
                self._known = _lists(documents, read_at)
            return self._known

    def current(self) -> Lists:
        """Return the lists; has them read where they are missing or old.

        Raises `RetryLater` while they are being read for the first time, and `ListsUnavailable`
        where that has failed.
        """
        found = self.lists()
        now = self._now()
        if found is not None:
            schema_at, *others = found.read_at
            is_old = now - schema_at > SCHEMA_LIFETIME or now - min(others) > LISTS_LIFETIME
            if is_old:
                self._read(now)
            return found
        failure = self._read(now)
        if failure is not None:
            raise failure
        raise RetryLater(after=_WAIT_S, reason="the lists of Notion are being read")

    def refresh(self) -> None:
        """Have the lists be read anew where they are kept, unless that was done a moment ago."""
        found, now = self.lists(), self._now()
        if found is not None and now - min(found.read_at) > _PATIENCE:
            self._read(now)

    def forget_columns(self) -> None:
        """Have the columns be read anew before the next mail is matched."""
        with self._engine.transaction() as tx:
            forget_listed(tx, SCHEMA)

    def learn(self, tx: Transaction, row: Row, config: Config) -> None:
        """Add a company that was found or made since the lists were read."""
        kept = get_listed(tx, COMPANIES)
        if kept is None or any(each["id"] == row.id for each in kept.document):
            return
        set_listed(tx, COMPANIES, [*kept.document, _company(row, config)])
        with self._lock:
            self._known = None

    def _read(self, now: datetime) -> ListsUnavailable | None:
        """Have the lists be read, once at a time; returns why that cannot be done."""
        with self._engine.reading() as tx:
            reader = get_listed(tx, READER)
        job_id = None if reader is None else reader.document["job_id"]
        try:
            view = None if job_id is None else self._engine.job(job_id)
        except UnknownJob:
            view = None
        if view is None or view.state is JobState.COMPLETE:
            self._start(job_id)
            return None
        if view.state not in _ENDED_BADLY:
            return None
        error = view.error or {}
        # What a repetition does not mend is not repeated for every mail that comes.
        lasting = error.get("category") != Category.TRANSIENT.value
        refused = lasting or error.get("error_class") == "CIRCUIT_OPEN"
        if refused and view.finished_at is not None and now - view.finished_at < _PATIENCE:
            return _unavailable(error)
        with suppress(ConflictError):  # another process retried it
            self._engine.retry(view.id, by="collabiq", reason="the lists of Notion are needed")
        return None

    def _start(self, before: str | None) -> None:
        with self._engine.transaction() as tx:
            next_numbers(tx, READER, 1)  # locks it: of two processes one makes the job
            reader = get_listed(tx, READER)
            if (None if reader is None else reader.document["job_id"]) != before:
                return
            job = self._engine.submit(DIRECTORY, {}, connection=tx.connection)
            set_listed(tx, READER, {"job_id": job.id})

    def _now(self) -> datetime:
        return from_us(self._engine.clock.now())


def read_step(engine: Holdfast, tools: Tools, config: Config, *, job_id: str) -> DirectoryResult:
    """Make the next request of a reading; raises `RetryLater` until there is none left."""
    with engine.reading() as tx:
        kept = get_listed(tx, READING)
    state: dict[str, Any] = {"job_id": job_id, "step": "source"}
    if kept is not None and kept.document["job_id"] == job_id:
        state = kept.document
    api, _ = tools.notion()
    match state["step"]:
        case "source":
            database_id = tools.secret(ROWS_DATABASE)
            state |= {"source": api.data_source_id(database_id), "database": database_id}
            state["step"] = "columns"
        case "columns":
            source = api.columns(state["source"], database_id=state["database"])
            state |= {"schema": _source_document(source), "step": "companies"}
        case "companies":
            companies_id = tools.maybe_secret(COMPANIES_DATABASE)
            found = None if companies_id is None else api.data_source_id(companies_id)
            state |= {"source": found, "cursor": None, "companies": []}
            first = "company_columns" if config.notion_creates_companies else "company_rows"
            state |= {"companies_database": companies_id}
            state["step"] = "people" if found is None else first
        case "company_columns":
            source = api.columns(state["source"], database_id=state["companies_database"])
            state |= {"company_schema": _source_document(source), "step": "company_rows"}
        case "company_rows":
            rows, cursor = api.rows_page(state["source"], cursor=state["cursor"])
            state["companies"] += [_company(row, config) for row in rows]
            state["cursor"] = cursor
            state["step"] = "company_rows" if cursor else "people"
        case _:
            try:
                people, cursor = api.people_page(cursor=state.get("cursor"))
            except NotionForbidden:
                # The integration may not see people: rows are written without them.
                people, cursor = [], None
            state["people"] = [
                *state.get("people", []),
                *({"id": each.id, "name": each.name} for each in people),
            ]
            state["cursor"] = cursor
            if not cursor:
                return _finish(engine, state)
    with engine.transaction() as tx:
        set_listed(tx, READING, state)
    raise RetryLater(after=0, reason=f"{state['step']} of Notion are read next")


def _finish(engine: Holdfast, state: Mapping[str, Any]) -> DirectoryResult:
    with engine.transaction() as tx:
        set_listed(tx, SCHEMA, state["schema"])
        set_listed(tx, COMPANIES, state["companies"])
        set_listed(tx, PEOPLE, state["people"])
        if "company_schema" in state:
            set_listed(tx, COMPANY_SCHEMA, state["company_schema"])
        forget_listed(tx, READING)
    return DirectoryResult(
        columns=len(state["schema"]["columns"]),
        companies=len(state["companies"]),
        people=len(state["people"]),
    )


def read_schema(tx: Reading) -> tuple[Source, datetime] | None:
    """Return the columns of rows as they were last read, and when that was."""
    found = get_listed(tx, SCHEMA)
    return None if found is None else (_source(found.document), found.read_at)


def read_company_schema(tx: Reading) -> Source | None:
    """Return the columns of companies as they were last read."""
    found = get_listed(tx, COMPANY_SCHEMA)
    return None if found is None else _source(found.document)


def _unavailable(error: Mapping[str, Any]) -> ListsUnavailable:
    found = str(error.get("error_class", ""))
    category = str(error.get("category", ""))
    verdict = Verdict(
        found or "UPSTREAM_5XX",
        retryable=False,
        category=Category(category) if category in set(Category) else Category.TRANSIENT,
        blames_upstream=False,
    )
    return ListsUnavailable(verdict, f"the lists of Notion cannot be read: {error.get('message')}")


def _lists(documents: Mapping[str, Any], read_at: tuple[datetime, ...]) -> Lists:
    companies = {each["id"]: ListedCompany(**each) for each in documents[COMPANIES]}
    people = {each["id"]: each["name"] for each in documents[PEOPLE]}
    return Lists(
        source=_source(documents[SCHEMA]),
        companies=companies,
        company_names=company_index((each.id, each.name) for each in companies.values()),
        people_names=person_index(people.items()),
        people=people,
        read_at=read_at,
    )


def _company(row: Row, config: Config) -> dict[str, Any]:
    title = next(
        (text_in(each) for each in row.properties.values() if each.get("type") == "title"), ""
    )
    fields = config.notion_fields
    return {
        "id": row.id,
        "name": title,
        "is_portfolio": _checked(row.properties.get(fields["is_portfolio"])),
        "is_affiliate": _checked(row.properties.get(fields["is_affiliate"])),
    }


def _checked(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("checkbox") is True


def _source_document(source: Source) -> dict[str, Any]:
    return {
        "id": source.id,
        "database_id": source.database_id,
        "columns": [
            {"name": each.name, "kind": each.kind, "options": list(each.options)}
            for each in source.columns.values()
        ],
    }


def _source(document: Mapping[str, Any]) -> Source:
    columns = {
        each["name"]: Column(each["name"], each["kind"], tuple(each["options"]))
        for each in document["columns"]
    }
    return Source(document["id"], document["database_id"], columns)
