"""`collabiq notion`: look at the workspace, try to write to it, and match names with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import click

from collabiq.cli.output import (
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    remark,
    reports_errors,
    table,
)
from collabiq.cli.services import COMPANIES, ROWS, Services, now, within_limits
from collabiq.match import Match, NameIndex, company_index, person_index
from collabiq.notion.client import NotionApi, Row, text_in
from collabiq.notion.properties import REQUIRED, RowValues, row_properties
from collabiq.notion.schema import COMPANY_FIELDS, KINDS, Source

TEST_ID: Final = "collabiq-test"
"""Stands as the `Email ID` of rows that `test-write` makes; no id of Gmail looks like that."""


@click.group()
def notion() -> None:
    """Look at the workspace in Notion, and try what collabiq does with it.

    Takes NOTION_API_KEY, NOTION_DATABASE_ID_COLLABIQ and NOTION_DATABASE_ID_COMPANIES from where
    collabiq itself takes them. Each command makes a few calls of Notion; none of them but
    test-write and cleanup-tests changes anything.
    """


@notion.command()
@json_option
@reports_errors
def verify(*, as_json: bool) -> None:
    """Check the key, both databases, and that no column is missing.

    Ends with 3 where Notion refuses or does not answer, and with 2 where the title or the column
    of Email ID is missing: no row can be written without them.

    Example: collabiq notion verify
    """
    own = Services()
    with own.notion() as api:
        rows = _source(api, own.secret(ROWS))
        companies = _source(api, own.secret(COMPANIES))
        fields = own.config.notion_fields
        missing = rows.missing(fields)
        flags = [fields[field] for field in sorted(COMPANY_FIELDS)]
        missing_flags = [name for name in flags if name not in companies.columns]
        for field in REQUIRED:
            rows.required(field, fields)
        people = within_limits(api.people)
    found = {
        "rows": {"database_id": rows.database_id, "data_source_id": rows.id, "missing": missing},
        "companies": {
            "database_id": companies.database_id,
            "data_source_id": companies.id,
            "missing": missing_flags,
        },
        "people": len(people),
    }
    if as_json:
        document({"ok": True, **found})
        return
    line(f"rows: {len(rows.columns)} columns, {_told(missing)}")
    line(f"companies: {len(companies.columns)} columns, {_told(missing_flags)}")
    line(f"people: {len(people)}")
    if missing:
        remark("rows are written without these columns; what is lost by it is marked for review")


@notion.command()
@json_option
@reports_errors
def schema(*, as_json: bool) -> None:
    """Show which column each field goes to, as Notion has it now.

    NOTION_FIELD_MAP, a JSON object from fields to names of columns, changes that.

    Example: NOTION_FIELD_MAP='{"person": "Owner"}' collabiq notion schema
    """
    own = Services()
    with own.notion() as api:
        rows = _source(api, own.secret(ROWS))
        fields = own.config.notion_fields
    found = [_field(field, rows, fields[field]) for field in fields if field not in COMPANY_FIELDS]
    if as_json:
        document({"fields": found})
        return
    table(
        ("FIELD", "COLUMN", "KIND", "STATE", "OPTIONS"),
        (
            (each["field"], each["column"], each["kind"], each["state"], ", ".join(each["options"]))
            for each in found
        ),
    )


@notion.command("test-write")
@json_option
@reports_errors
def test_write(*, as_json: bool) -> None:
    """Make a row that says it is a test, and read it back.

    Its Email ID is collabiq-test; cleanup-tests puts it into the trash.

    Example: collabiq notion test-write && collabiq notion cleanup-tests
    """
    own = Services()
    with own.notion() as api:
        database_id = own.secret(ROWS)
        values = RowValues(
            email_id=TEST_ID,
            title=f"collabiq test {now():%Y-%m-%d %H:%M:%S}Z",
            summary="A test of collabiq. `collabiq notion cleanup-tests` removes it.",
            needs_review=True,
        )
        built = row_properties(values, _source(api, database_id), own.config.notion_fields)
        row = within_limits(lambda: api.create(database_id, properties=built.properties))
    if as_json:
        document({"page_id": row.id, "url": row.url, "missing": built.missing})
        return
    line(row.url or row.id)
    if built.missing:
        remark(f"these columns are not there: {', '.join(built.missing)}")


@notion.command("cleanup-tests")
@json_option
@reports_errors
def cleanup_tests(*, as_json: bool) -> None:
    """Put every row that test-write made into the trash.

    Example: collabiq notion cleanup-tests
    """
    removed: list[str] = []
    own = Services()
    with own.notion() as api:
        database_id = own.secret(ROWS)
        column = _source(api, database_id).required("email_id", own.config.notion_fields).name
        while (row := _next_test(api, database_id, column)) is not None and row.id not in removed:
            page_id = row.id
            within_limits(lambda page_id=page_id: api.archive(page_id))  # type: ignore[misc]
            removed.append(page_id)
    if as_json:
        document({"removed": removed})
    else:
        line(f"{len(removed)} test rows removed")


@notion.command("match-company")
@click.argument("name")
@json_option
@reports_errors
def match_company(*, name: str, as_json: bool) -> None:
    """Show which company NAME means, and how well others fit.

    Ends with 1 where none fits, or several do: then no company would be linked.

    Example: collabiq notion match-company "Brigthfold"
    """
    own = Services()
    with own.notion() as api:
        rows = within_limits(lambda: list(api.rows(own.secret(COMPANIES))))
    index = company_index((row.id, _title(row)) for row in rows)
    _print_match(name, index, as_json=as_json)


@notion.command("match-person")
@click.argument("name")
@json_option
@reports_errors
def match_person(*, name: str, as_json: bool) -> None:
    """Show which person of the workspace NAME means, and how well others fit.

    Ends with 1 where none fits, or several do.

    Example: collabiq notion match-person "김도윤 팀장"
    """
    own = Services()
    with own.notion() as api:
        people = within_limits(api.people)
    _print_match(name, person_index((person.id, person.name) for person in people), as_json=as_json)


@notion.command("list-users")
@json_option
@reports_errors
def list_users(*, as_json: bool) -> None:
    """List the people of the workspace, without integrations.

    Example: collabiq notion list-users --json
    """
    own = Services()
    with own.notion() as api:
        people = within_limits(api.people)
    if as_json:
        document(
            {
                "users": [
                    {"id": each.id, "name": each.name, "email": each.address} for each in people
                ]
            }
        )
        return
    table(("ID", "NAME", "ADDRESS"), ((each.id, each.name, each.address) for each in people))


def verify_notion(own: Services) -> list[str]:
    """Return the columns of a row that are missing; raises what Notion refuses."""
    with own.notion() as api:
        rows = _source(api, own.secret(ROWS))
        for field in REQUIRED:
            rows.required(field, own.config.notion_fields)
        return rows.missing(own.config.notion_fields)


def _source(api: NotionApi, database_id: str) -> Source:
    return within_limits(lambda: api.source(database_id))


def _told(missing: Iterable[str]) -> str:
    names = ", ".join(missing)
    return f"missing: {names}" if names else "none missing"


def _field(field: str, rows: Source, wanted: str) -> dict[str, Any]:
    column = rows.column(field, {field: wanted})
    there = rows.columns.get(wanted)
    if column is not None:
        state = "ok" if column.name == wanted else f"is called {column.name}"
    elif there is not None:
        state = f"is of kind {there.kind}"
    else:
        state = "required and missing" if field in REQUIRED else "missing"
    return {
        "field": field,
        "column": wanted,
        "kind": " or ".join(KINDS[field]),
        "state": state,
        "options": list(column.options) if column is not None else [],
    }


def _next_test(api: NotionApi, database_id: str, column: str) -> Row | None:
    found = within_limits(lambda: api.find(database_id, column=column, email_ids=[TEST_ID]))
    return found.get(TEST_ID)


def _title(row: Row) -> str:
    for value in row.properties.values():
        if isinstance(value, dict) and value.get("type") == "title":
            return text_in(value)
    return ""


def _print_match(name: str, index: NameIndex, *, as_json: bool) -> None:
    match = index.match(name)
    if as_json:
        document(_match_document(name, match, known=len(index)))
    else:
        table(
            ("SCORE", "NAME", "ID"),
            ((f"{each.score:.2f}", each.name, each.id) for each in match.alternatives),
        )
    if match.found is None:
        why = "several fit alike" if match.ambiguous else "none fits well enough"
        said = f"{name!r} of {len(index)} names: {why}, so none would be linked"
        exit_with(ExitCode.ERROR, said)
    if not as_json:
        doubt = "" if match.sure else ", to be looked at by a person"
        remark(f"{name!r} is {match.found.name!r} ({match.found.score:.2f}){doubt}")


def _match_document(name: str, match: Match, *, known: int) -> dict[str, Any]:
    found = match.found
    return {
        "name": name,
        "known": known,
        "found": None if found is None else {"id": found.id, "name": found.name},
        "score": None if found is None else found.score,
        "ambiguous": match.ambiguous,
        "sure": match.sure,
        "alternatives": [
            {"id": each.id, "name": each.name, "score": each.score} for each in match.alternatives
        ],
    }
