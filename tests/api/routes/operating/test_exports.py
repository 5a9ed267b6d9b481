"""Lists as tables: nothing that somebody stored is run by a spreadsheet, and pages are bounded."""

import csv
import io

import pytest

from holdfast.api.requests.csv_text import cell, csv_of
from tests.api.routes.operating.desk import Desk

FORMULAS = [
    '=HYPERLINK("http://127.0.0.1/?"&A1,"x")',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    "  \t@x",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20x",
    "%0A=1",
    "|calc",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_like_a_formula_is_a_text(text):
    shown = cell(text)

    assert shown.startswith("'")
    assert "\n" not in shown
    assert "\r" not in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (-3, "-3"),
        (0.5, "0.5"),
        ("plain", "plain"),
        ("a=b", "a=b"),
        ("2026-11-16T08:30:00.000000Z", "2026-11-16T08:30:00.000000Z"),
        ("two\nlines", "two lines"),
        ('with "quotes", and a comma', 'with "quotes", and a comma'),
    ],
)
def test_what_is_no_formula_stays_as_it_is(value, shown):
    assert cell(value) == shown


def test_a_cell_cannot_end_itself_and_begin_another():
    text = csv_of(["a", "b"], [{"a": '","=1+1', "b": '"\r\n"=2'}])

    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ['","=1+1', '" "=2']]


def table(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_jobs_letters_and_the_record_are_exported_and_never_run(desk: Desk):
    evil = '=HYPERLINK("http://127.0.0.1","x")'
    desk.down_for = None
    desk.app.submit("p", {"n": 1}, key=evil, owner="@owner")
    (letter,) = desk.dead(2)
    desk.app.dead.triage(letter, cause="data", by="+ada", note="-1+1")
    reader = desk("reader")

    jobs = reader.get("/api/exports/jobs.csv")
    letters = reader.get("/api/exports/dead-letters.csv")
    record = reader.get("/api/exports/audit.csv?subject_kind=dead_letter")

    assert {answer.headers["content-type"] for answer in (jobs, letters, record)} == {
        "text/csv; charset=utf-8"
    }
    assert jobs.headers["content-disposition"] == 'attachment; filename="jobs.csv"'
    assert jobs.headers["x-content-type-options"] == "nosniff"
    assert (f"'{evil}", "'@owner") in [(row["key"], row["owner"]) for row in table(jobs)]
    assert "GATEWAY_DOWN" in [row["error_class"] for row in table(letters)]
    assert [(row["by"], row["reason"]) for row in table(record)] == [("'+ada", "'-1+1")]
    cells = [
        text for answer in (jobs, letters, record) for row in table(answer) for text in row.values()
    ]
    assert [text for text in cells if text.startswith(("=", "+", "@", "\t"))] == []


def test_a_table_comes_page_by_page(desk: Desk):
    ids = [desk.delivery(subject=f"review-{n}") for n in range(3)]
    reader = desk("reader")

    first = reader.get("/api/exports/deliveries.csv?limit=2")
    rest = reader.get(first.links["next"]["url"])

    assert [row["id"] for row in table(first)] == ids[:0:-1]
    assert [row["id"] for row in table(rest)] == ids[:1]
    assert "next" not in rest.links


def test_the_filters_of_the_list_hold_for_its_table(desk: Desk):
    desk.dead(1, 2, owner="a")
    desk.dead(3, owner="b")

    own = desk("reader", "b").get("/api/exports/dead-letters.csv")
    found = desk("reader").get("/api/exports/dead-letters.csv?owner=a&state=open")

    assert [row["owner"] for row in table(own)] == ["b"]
    assert [row["owner"] for row in table(found)] == ["a", "a"]
