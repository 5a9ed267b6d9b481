"""Data that does not fit its schema: ours is not tried again, an upstream's is, a few times."""

import json

import httpx
import httpx2
import msgspec
import pydantic
import pytest
from pydantic import v1

from holdfast.classify import answer_rules, classify, not_found_yet
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import NOT_JSON, Server, http_answer


class Grade(pydantic.BaseModel):
    points: int


class OldGrade(v1.BaseModel):
    points: int


class FastGrade(msgspec.Struct):
    points: int


READERS = {
    "pydantic, missing": lambda: Grade.model_validate({}),
    "pydantic, other type": lambda: Grade.model_validate({"points": "many"}),
    "pydantic, text": lambda: Grade.model_validate_json('{"points": '),
    "pydantic 1": lambda: OldGrade.parse_obj({"points": "many"}),
    "msgspec, other type": lambda: msgspec.json.decode(b'{"points": "many"}', type=FastGrade),
    "msgspec, missing": lambda: msgspec.convert({}, FastGrade),
    "msgspec, text": lambda: msgspec.json.decode(b'{"points": '),
    "json": lambda: json.loads('{"points": '),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_we_were_given_and_does_not_fit_is_not_tried_again(read):
    assert row_of(caught(read)) == rows.INVALID


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_stage_may_say_that_it_reads_answers(read):
    assert row_of(caught(read), answer_rules()) == rows.OUTPUT_INVALID


def test_how_often_an_answer_is_asked_for_is_the_stages_choice():
    row = row_of(caught(READERS["json"]), answer_rules(attempts=2))

    assert row == retried("INVALID", known=True, blames=False, attempts=2)


@pytest.mark.parametrize("library", [httpx2, httpx], ids=["httpx2", "httpx"])
def test_json_that_came_through_a_client_was_an_answer(library):
    with Server(NOT_JSON) as server:
        error = caught(lambda: library.get(server.url).json())

    assert type(error) is json.JSONDecodeError
    assert row_of(error) == rows.ANSWER_INVALID


def test_json_that_we_take_out_of_an_answer_ourselves_is_ours():
    with Server(NOT_JSON) as server:
        text = httpx2.get(server.url).text

    assert row_of(caught(json.loads, text)) == rows.INVALID


def test_where_an_exception_passed_is_looked_for_in_bounded_time():
    error = caught(READERS["json"])
    for _ in range(2_000):
        try:
            raise error
        except json.JSONDecodeError as caught_again:
            error = caught_again

    assert row_of(error) == rows.INVALID


def test_a_404_right_after_creating_may_be_tried_again():
    with Server(http_answer(404)) as server:
        error = caught(lambda: httpx2.get(server.url).raise_for_status())

    assert row_of(error) == rows.NOT_FOUND
    yet = retried("NOT_FOUND", known=True, blames=False, attempts=3)
    assert row_of(error, [not_found_yet()]) == yet


def test_only_a_404_is_not_found_yet():
    with Server(http_answer(410)) as server:
        error = caught(lambda: httpx2.get(server.url).raise_for_status())

    assert classify(error, [not_found_yet()], now=NOW).retryable is False
