"""Calls of Notion over its SDK: each is one request, and says what its failure means."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from collabiq.notion.errors import NotionFailure, NotionNotFound, NotionUnavailable, failure_of
from collabiq.notion.schema import Source, source_of
from collabiq.tls import tls_context

API_URL: Final = "https://api.notion.com"
TIMEOUT_S: Final = 30.0
_ID: Final = re.compile(r"[0-9a-fA-F-]{32,36}")
SCHEMA_LIFETIME_S: Final = 24 * 3_600.0
MAX_LOOKUPS: Final = 50
"""E-mails that one query asks for; Notion takes 100 conditions."""
PAGE_SIZE: Final = 100
# Its messages quote what was sent, which must not be logged.
_SILENT: Final = logging.getLogger("collabiq.notion.sdk")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A page of a database."""

    id: str
    url: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the workspace."""

    id: str
    name: str
    address: str


class NotionApi:
    """A workspace. Any number of threads may use it; nothing is retried by itself.

    What fails raises a `NotionFailure`. `clock` is in seconds and never goes back.
    """

    def __init__(
        self,
        token: str,
        *,
        base_url: str = API_URL,
        timeout_s: float = TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # The SDK is slow to import, and what writes no row needs none of it.
        import httpx  # noqa: PLC0415
        import notion_client  # noqa: PLC0415

        self._http = httpx.Client(verify=tls_context())
        self._sdk = notion_client.Client(
            client=self._http,
            auth=token,
            base_url=base_url.rstrip("/"),
            timeout_ms=int(timeout_s * 1_000),
            logger=_SILENT,
            log_level=logging.CRITICAL,
            # By default it waits up to a minute within a call, and hides attempts.
            retry=False,
        )
        self._clock = clock
        self._lock = threading.Lock()
        self._sources: dict[str, tuple[Source, float]] = {}

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def source(self, database_id: str) -> Source:
        """Return the data source of a database with its columns, as it was within a day."""
        with self._lock:
            known = self._sources.get(database_id)
        if known is not None and self._clock() - known[1] < SCHEMA_LIFETIME_S:
            return known[0]
        return self._resolve(database_id)

    def remember(self, source: Source) -> None:
        """Take the columns of a database as another worker has read them."""
        with self._lock:
            self._sources[source.database_id] = (source, self._clock())

    def data_source_id(self, database_id: str) -> str:
        """Return the id of the data source of a database, with one request."""

        def ids_in(database: Mapping[str, Any]) -> list[str]:
            return [str(each["id"]) for each in database.get("data_sources") or ()]

        ids = _read(lambda: self._sdk.databases.retrieve(database_id), ids_in)
        if not ids:
            raise NotionNotFound(f"the database {database_id} has no data source")
        return ids[0]

    def columns(self, source_id: str, *, database_id: str) -> Source:
        """Return a data source with its columns, with one request."""
        return _read(
            lambda: self._sdk.data_sources.retrieve(source_id),
            lambda document: source_of(document, database_id=database_id),
        )

    def rows_page(
        self, source_id: str, *, cursor: str | None = None
    ) -> tuple[list[Row], str | None]:
        """Return a page of the rows of a data source, and where the next begins."""
        asked = {"page_size": PAGE_SIZE} | ({"start_cursor": cursor} if cursor else {})
        return _read(lambda: self._sdk.data_sources.query(source_id, **asked), _rows)

    def people_page(self, *, cursor: str | None = None) -> tuple[list[Person], str | None]:
        """Return a page of the people of the workspace, and where the next begins."""
        given = {"page_size": PAGE_SIZE} | ({"start_cursor": cursor} if cursor else {})

        def people_in(answer: Mapping[str, Any]) -> tuple[list[Person], str | None]:
            found = [_person(each) for each in answer["results"] if each.get("type") == "person"]
            return found, answer.get("next_cursor")

        return _read(lambda: self._sdk.users.list(**given), people_in)

    def forget(self, database_id: str) -> None:
        """Have the columns of a database read anew the next time they are asked for."""
        with self._lock:
            self._sources.pop(database_id, None)

    def find(self, database_id: str, *, column: str, email_ids: Sequence[str]) -> dict[str, Row]:
        """Return the rows of some e-mails by their ids, of several the first.

        A failure is a failure, and never that there is no row.
        """
        found: dict[str, Row] = {}
        for start in range(0, len(email_ids), MAX_LOOKUPS):
            wanted = [
                {"property": column, "rich_text": {"equals": email_id}}
                for email_id in email_ids[start : start + MAX_LOOKUPS]
            ]
            condition = wanted[0] if len(wanted) == 1 else {"or": wanted}
            for row in self._query(database_id, filter=condition):
                found.setdefault(text_in(row.properties.get(column)), row)
        return found

    def find_titled(self, database_id: str, *, column: str, title: str) -> Row | None:
        """Return the row of a title, of several the first; a failure is not that there is none."""
        condition = {"property": column, "title": {"equals": title}}
        return next(self._query(database_id, filter=condition), None)

    def rows(self, database_id: str) -> Iterator[Row]:
        """Yield all rows of a database, a request for each hundred."""
        yield from self._query(database_id)

    def create(
        self,
        database_id: str,
        *,
        properties: Mapping[str, Any],
        children: Sequence[Mapping[str, Any]] = (),
    ) -> Row:
        """Make a row with its body, in one request."""

        def call(source: Source) -> Row:
            parent = {"type": "data_source_id", "data_source_id": source.id}
            given: dict[str, Any] = {"parent": parent, "properties": properties}
            if children:
                given["children"] = list(children)
            return _read(lambda: self._sdk.pages.create(**given), _row)

        return self._with_source(database_id, call)

    def update(self, page_id: str, *, properties: Mapping[str, Any]) -> Row:
        """Change a row."""
        return _read(lambda: self._sdk.pages.update(page_id, properties=properties), _row)

    def archive(self, page_id: str) -> None:
        """Put a row into the trash."""
        _read(lambda: self._sdk.pages.update(page_id, in_trash=True), dict)

    def people(self) -> list[Person]:
        """Return the people of the workspace, without integrations."""
        found: list[Person] = []
        cursor: str | None = None
        while True:
            people, cursor = self.people_page(cursor=cursor)
            found += people
            if not cursor:
                return found

    def _query(self, database_id: str, **given: Any) -> Iterator[Row]:  # noqa: ANN401 - a filter
        cursor: str | None = None
        while True:
            asked = given | {"page_size": PAGE_SIZE} | ({"start_cursor": cursor} if cursor else {})

            def call(
                source: Source, asked: Mapping[str, Any] = asked
            ) -> tuple[list[Row], str | None]:
                return _read(lambda: self._sdk.data_sources.query(source.id, **asked), _rows)

            rows, cursor = self._with_source(database_id, call)
            yield from rows
            if not cursor:
                return

    def _with_source(self, database_id: str, call: Callable[[Source], T]) -> T:
        """Call with the data source; where it is gone, look for it once more."""
        source = self.source(database_id)
        try:
            return call(source)
        except NotionNotFound:
            self.forget(database_id)
            found = self._resolve(database_id)
            if found.id == source.id:
                raise
            return call(found)

    def _resolve(self, database_id: str) -> Source:
        source = self.columns(self.data_source_id(database_id), database_id=database_id)
        self.remember(source)
        return source


def text_in(value: Mapping[str, Any] | None) -> str:
    """Return the plain text of a property's value."""
    kind = str(value.get("type", "")) if value else ""
    inner = value.get(kind) if value else None
    if not isinstance(inner, list):
        return ""
    return "".join(str(each.get("plain_text", "")) for each in inner if isinstance(each, Mapping))


def _read(call: Callable[[], Any], read: Callable[[dict[str, Any]], T]) -> T:
    """Return what is read of the document of a call, or raise what its failure means.

    A document of another form is no answer: whether something was done, nobody knows.
    """
    import httpx  # noqa: PLC0415 - as above
    from notion_client.errors import NotionClientErrorBase  # noqa: PLC0415 - as above

    try:
        found = call()
    except (NotionClientErrorBase, httpx.HTTPError, ValueError, RecursionError) as error:
        failure = failure_of(error)
        if failure is None:
            raise
        raise failure from error
    try:
        return read(found)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        raise NotionUnavailable("Notion answered with another document than it has to") from None


def _rows(answer: Mapping[str, Any]) -> tuple[list[Row], str | None]:
    return [_row(each) for each in answer["results"]], answer.get("next_cursor")


def _row(document: Mapping[str, Any]) -> Row:
    found = document["id"]
    if _ID.fullmatch(found) is None:
        raise ValueError(found)
    return Row(found, str(document.get("url", "")), document.get("properties") or {})


def _person(document: Mapping[str, Any]) -> Person:
    person = document.get("person") or {}
    return Person(
        str(document["id"]), str(document.get("name") or ""), str(person.get("email", ""))
    )


__all__ = ["NotionApi", "NotionFailure", "Person", "Row", "text_in"]
