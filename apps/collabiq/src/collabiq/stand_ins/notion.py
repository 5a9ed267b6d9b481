"""A stand-in for Notion: databases, data sources, pages, users and blocks, kept in memory."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collabiq.stand_ins.notion_answers import always, error, id_of, missing, rate_limited
from collabiq.stand_ins.notion_values import (
    Invalid,
    check_children,
    check_properties,
    empty_value,
    matches,
    plain_value,
    schema_of,
    stored_value,
)
from collabiq.stand_ins.wire import (
    Answering,
    Refused,
    bearer_of,
    document_of,
    json_answer,
    losing,
    path_of,
    query_of,
)
from holdfast.systems import Answer, Call

MAX_BODY_BYTES: Final = 500 * 1000
MAX_PAGE_SIZE: Final = 100
_BASE_ID: Final = 0x1D000000_0000_4000_8000_000000000000
_EPOCH: Final = "2025-11-03T00:{:02}:{:02}.000Z"


@dataclass(slots=True)
class Source:
    """A data source: columns, and the pages that are its rows."""

    id: str
    database_id: str
    schema: dict[str, Any]
    rows: list[str] = field(default_factory=list)


class NotionStandIn:
    """Answers as Notion's API of 2025-09-03 does; any number of threads may call it.

    `rate_per_s` is a strict bucket with as large a burst; None is no limit. Rows turn up in queries
    `index_lag_s` after they were made.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        rate_per_s: float | None = 3.0,
        index_lag_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token = token
        self.rate_per_s, self.index_lag_s = rate_per_s, index_lag_s
        self.refused = 0
        """How many calls were too many."""
        self.sources: dict[str, Source] = {}
        self.databases: dict[str, str] = {}
        """The data source of each database."""
        self.pages: dict[str, dict[str, Any]] = {}
        self.blocks: dict[str, list[dict[str, Any]]] = {}
        self.users: dict[str, dict[str, Any]] = {}
        self._made_at: dict[str, float] = {}
        self._clock = clock
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._level, self._filled_at = rate_per_s or 0.0, clock()

    @property
    def faults(self) -> Mapping[str, Answering]:
        """What it does instead, by name."""
        return {
            "unauthorized": always(401, "unauthorized", "API token is invalid."),
            "forbidden": always(
                403, "restricted_resource", "Insufficient permissions for this endpoint."
            ),
            "conflict": always(409, "conflict_error", "Conflict occurred while saving."),
            "invalid": always(400, "validation_error", "body failed validation."),
            "rate_limited": rate_limited,
            "overloaded": always(529, "service_overload", "Notion is overloaded."),
            "lost_answer": losing(self),
        }

    def __call__(self, call: Call) -> Answer:
        """Answer a call."""
        with self._lock:
            try:
                self._admit(call)
                return json_answer(self._route(call))
            except Refused as refused:
                return refused.answer
            except Invalid as invalid:
                return error(400, "validation_error", str(invalid))

    def add_database(
        self,
        title: str,
        columns: Mapping[str, str],
        *,
        options: Mapping[str, Sequence[str]] | None = None,
    ) -> str:
        """Make a database with one data source, and return its id."""
        with self._lock:
            database_id, source_id = self._new_id(), self._new_id()
            schema = schema_of(columns, options or {})
            self.sources[source_id] = Source(source_id, database_id, schema)
            self.databases[database_id] = source_id
            self.blocks[database_id] = [{"title": title}]
            return database_id

    def add_row(self, database_id: str, properties: Mapping[str, Any]) -> str:
        """Make a row without a call, and return its id."""
        with self._lock:
            page = self._make_page(self.sources[self.databases[database_id]], properties, [])
            self._made_at[page["id"]] = float("-inf")
            return str(page["id"])

    def add_user(self, name: str) -> str:
        """Make a person, and return the id."""
        with self._lock:
            user_id = self._new_id()
            self.users[user_id] = {
                "object": "user",
                "id": user_id,
                "name": name,
                "type": "person",
                "person": {"email": f"user-{len(self.users)}@example.com"},
            }
            return user_id

    def rows_of(self, database_id: str) -> list[dict[str, Any]]:
        """Return the rows of a database, oldest first."""
        with self._lock:
            return [self.pages[row] for row in self.sources[self.databases[database_id]].rows]

    def columns_of(self, database_id: str) -> dict[str, Any]:
        """Return the columns of a database by their names."""
        with self._lock:
            return dict(self.sources[self.databases[database_id]].schema)

    def texts_of(self, page: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
        """Return what a row says in some columns; of relations and people, their names."""
        with self._lock:
            return [self._text(page["properties"].get(name)) for name in columns]

    def add_column(self, database_id: str, name: str, kind: str) -> None:
        """Add a column, unless there is one of the name."""
        with self._lock:
            schema = self.sources[self.databases[database_id]].schema
            schema.setdefault(name, schema_of({name: kind}, {})[name])

    def remove_column(self, database_id: str, name: str) -> None:
        """Remove a column with its values."""
        with self._lock:
            source = self.sources[self.databases[database_id]]
            source.schema.pop(name, None)
            for row in source.rows:
                self.pages[row]["properties"].pop(name, None)

    def replace_source(self, database_id: str) -> None:
        """Give the data source of a database another id, as when it was moved."""
        with self._lock:
            source = self.sources.pop(self.databases[database_id])
            source.id = self._new_id()
            self.sources[source.id] = source
            self.databases[database_id] = source.id

    def _admit(self, call: Call) -> None:
        if not bearer_of(call) or self.token not in {None, bearer_of(call)}:
            raise Refused(error(401, "unauthorized", "API token is invalid."))
        if "notion-version" not in call.headers:
            words = "Notion-Version header should be defined, instead was `undefined`."
            raise Refused(error(400, "missing_version", words))
        if len(call.body) > MAX_BODY_BYTES:
            raise Refused(error(400, "validation_error", "body is larger than 500KB."))
        if self.rate_per_s is None:
            return
        now = self._clock()
        self._level += (now - self._filled_at) * self.rate_per_s
        self._level, self._filled_at = min(self._level, self.rate_per_s), now
        if self._level < 1:
            self.refused += 1
            words = "You have been rate limited. Please try again in a few minutes."
            raise Refused(error(429, "rate_limited", words, headers={"Retry-After": "1"}))
        self._level -= 1

    def _route(self, call: Call) -> dict[str, Any]:
        body = document_of(call)
        if body is None:
            raise Refused(error(400, "invalid_json", "Error parsing JSON body."))
        match [call.method, *path_of(call)]:
            case ["GET", "v1", "databases", given]:
                return self._database(id_of(given))
            case ["GET", "v1", "data_sources", given]:
                return self._source_document(self._source(given))
            case ["PATCH", "v1", "data_sources", given]:
                return self._change_columns(self._source(given), body.get("properties", {}))
            case ["POST", "v1", "data_sources", given, "query"]:
                return self._query(self._source(given), body)
            case ["POST", "v1", "pages"]:
                return self._create(body)
            case ["GET", "v1", "pages", given]:
                return self._page(given)
            case ["PATCH", "v1", "pages", given]:
                return self._update(self._page(given), body)
            case ["GET", "v1", "users"]:
                return self._listed(list(self.users.values()), query_of(call))
            case ["GET", "v1", "users", "me"]:
                return {"object": "user", "id": id_of("1"), "type": "bot", "name": "stand-in"}
            case ["GET", "v1", "users", given]:
                return self.users.get(id_of(given)) or missing("user", given)
            case ["GET", "v1", "blocks", given, "children"]:
                page = self._page(given)
                return self._listed(self.blocks.get(page["id"], []), query_of(call))
            case ["PATCH", "v1", "blocks", given, "children"]:
                page = self._page(given)
                check_children(body.get("children"))
                self.blocks.setdefault(page["id"], []).extend(body["children"])
                return self._listed(self.blocks[page["id"]], {})
            case _:
                raise Refused(error(400, "invalid_request_url", "Invalid request URL."))

    def _database(self, database_id: str) -> dict[str, Any]:
        source_id = self.databases.get(database_id)
        if source_id is None:
            missing("database", database_id)
        title = self.blocks[database_id][0]["title"]
        return {
            "object": "database",
            "id": database_id,
            "title": [{"type": "text", "text": {"content": title}, "plain_text": title}],
            "data_sources": [{"id": source_id, "name": title}],
        }

    def _source(self, given: str) -> Source:
        return self.sources.get(id_of(given)) or missing("data_source", given)

    def _source_document(self, source: Source) -> dict[str, Any]:
        return {
            "object": "data_source",
            "id": source.id,
            "properties": source.schema,
            "parent": {"type": "database_id", "database_id": source.database_id},
        }

    def _change_columns(self, source: Source, changes: Mapping[str, Any]) -> dict[str, Any]:
        for name, change in changes.items():
            column = source.schema.pop(name, None)
            if column is not None and change is not None:
                renamed = change.get("name", name)
                source.schema[renamed] = column | {"name": renamed}
        return self._source_document(source)

    def _query(self, source: Source, body: Mapping[str, Any]) -> dict[str, Any]:
        seen_before = self._clock() - self.index_lag_s
        wanted = body.get("filter")
        found = [
            page
            for page in (self.pages[row] for row in source.rows)
            if not page["archived"]
            and self._made_at[page["id"]] <= seen_before
            and (wanted is None or matches(page, wanted))
        ]
        return self._listed(found, body)

    def _listed(self, found: Sequence[dict[str, Any]], asked: Mapping[str, Any]) -> dict[str, Any]:
        size = min(int(asked.get("page_size", MAX_PAGE_SIZE)), MAX_PAGE_SIZE)
        cursor = asked.get("start_cursor")
        start = int(str(cursor).rpartition("-")[2], 16) if cursor else 0
        after = start + size
        more = after < len(found)
        return {
            "object": "list",
            "results": list(found[start:after]),
            "has_more": more,
            "next_cursor": f"cursor-{after:x}" if more else None,
        }

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        parent = body.get("parent") or {}
        if "data_source_id" in parent:
            source = self._source(str(parent["data_source_id"]))
        elif "database_id" in parent:
            source_id = self.databases.get(id_of(str(parent["database_id"])))
            source = self._source(source_id or str(parent["database_id"]))
        else:
            raise Invalid("body failed validation: body.parent should be defined.")
        children = body.get("children", [])
        check_children(children)
        return self._make_page(source, body.get("properties", {}), children)

    def _make_page(
        self, source: Source, properties: Mapping[str, Any], children: list[dict[str, Any]]
    ) -> dict[str, Any]:
        self._check(source, properties)
        page_id = self._new_id()
        made = next(self._numbers) % 3_600
        page = {
            "object": "page",
            "id": page_id,
            "created_time": _EPOCH.format(made // 60, made % 60),
            "archived": False,
            "in_trash": False,
            "url": f"https://www.notion.so/{page_id.replace('-', '')}",
            "parent": {
                "type": "data_source_id",
                "data_source_id": source.id,
                "database_id": source.database_id,
            },
            "properties": {
                name: empty_value(name, column["type"]) for name, column in source.schema.items()
            },
        }
        self._set(page, source, properties)
        self.pages[page_id] = page
        self.blocks[page_id] = list(children)
        self._made_at[page_id] = self._clock()
        source.rows.append(page_id)
        return page

    def _page(self, given: str) -> dict[str, Any]:
        return self.pages.get(id_of(given)) or missing("page", given)

    def _update(self, page: dict[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        source = self._source(page["parent"]["data_source_id"])
        properties = body.get("properties", {})
        self._check(source, properties)
        self._set(page, source, properties)
        if {"archived", "in_trash"} & set(body):
            page["archived"] = page["in_trash"] = bool(body.get("archived", body.get("in_trash")))
        return page

    def _check(self, source: Source, properties: Mapping[str, Any]) -> None:
        check_properties(properties, source.schema)
        for value in properties.values():
            for each in value.get("relation", ()):
                self._page(each["id"])
            for each in value.get("people", ()):
                if id_of(each["id"]) not in self.users:
                    missing("user", each["id"])

    @staticmethod
    def _set(page: dict[str, Any], source: Source, properties: Mapping[str, Any]) -> None:
        for name, value in properties.items():
            column = source.schema[name]
            kind = column["type"]
            page["properties"][name] = stored_value(name, kind, value)
            option = value.get("select")
            if option and option["name"] not in [each["name"] for each in column[kind]["options"]]:
                column[kind]["options"].append({"name": option["name"]})

    def _text(self, value: Mapping[str, Any] | None) -> str:
        found = None if value is None else plain_value(value)
        if isinstance(found, list):
            return ", ".join(self._name(each) for each in found)
        return "" if found is None else {True: "yes", False: "no"}.get(found, str(found))

    def _name(self, some_id: str) -> str:
        if some_id in self.users:
            return str(self.users[some_id]["name"])
        properties = self.pages[some_id]["properties"] if some_id in self.pages else {}
        titles = [plain_value(each) for each in properties.values() if each["type"] == "title"]
        return str(titles[0]) if titles else some_id

    def _new_id(self) -> str:
        return str(uuid.UUID(int=_BASE_ID | next(self._numbers)))
