"""Cursors come back from outside: whatever they say, they are either sound or refused."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.errors import InvalidValue
from holdfast.runtime.events.tail_cursor import Cursor, cursor_from_text
from holdfast.store.tables.tail import Mark

HERE = Mark("10:20:12,15", 10, 20, 7, Instant(1000), Instant(900))
JOB = JobId("018bcfe5-6800-7000-8000-000000000001")


def text_of(document: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(HERE),
        Cursor(HERE._replace(snapshot="", entries=3, jobs=1)),
        Cursor(HERE, HERE, job_after=JOB),
        Cursor(HERE, HERE, jobs_done=True, entry_after=(11, JOB, 2)),
    ],
)
def test_a_cursor_survives_as_a_text(cursor: Cursor) -> None:
    assert cursor_from_text(cursor.to_text()) == cursor


@pytest.mark.parametrize(
    "mark",
    [
        ["10:20:15,12", 10, 20, 7, 1000, 900],
        ["10:20:9", 10, 20, 7, 1000, 900],
        ["20:10:", 20, 10, 7, 1000, 900],
        ["10:20:", 11, 20, 7, 1000, 900],
        ["0:0:", 0, 0, 7, 1000, 900],
        ["1:2:'; drop table job", 1, 2, 7, 1000, 900],
        ["", -1, 20, 7, 1000, 900],
        ["", 1 << 63, 20, 7, 1000, 900],
        ["", 1.5, 20, 7, 1000, 900],
        ["", True, 20, 7, 1000, 900],
        ["", 1, 2, 3, 4],
        [1, 1, 2, 3, 4, 5],
        [],
        None,
    ],
)
def test_a_mark_that_no_database_makes_is_refused(mark: object) -> None:
    with pytest.raises(InvalidValue, match="the cursor of an event"):
        cursor_from_text(text_of([1, mark]))


@pytest.mark.parametrize(
    "document",
    [
        [2, list(HERE)],
        [1],
        {},
        [1, list(HERE), list(HERE)],
        [1, list(HERE), list(HERE), "no id", False, None],
        [1, list(HERE), list(HERE), None, True, [1, "no id", 2]],
        [1, list(HERE), list(HERE), None, True, [-1, JOB, 2]],
        [1, list(HERE), list(HERE), None, True, [1, JOB, 1 << 31]],
        [1, list(HERE), list(HERE), None, True, 7],
    ],
)
def test_a_place_that_no_page_has_is_refused(document: object) -> None:
    with pytest.raises(InvalidValue, match="the cursor of an event"):
        cursor_from_text(text_of(document))


@given(st.text() | st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"))
def test_no_text_does_any_harm(text: str) -> None:
    with pytest.raises(InvalidValue):
        cursor_from_text(text)


def test_a_text_that_is_too_long_is_not_even_read() -> None:
    with pytest.raises(InvalidValue):
        cursor_from_text(Cursor(HERE).to_text() + "A" * 8000)
