"""The stand-in as the real SDK meets it."""

import json

import pytest

from collabiq.stand_ins.notion import NotionStandIn
from holdfast.systems import Call

HEADERS = {"authorization": "Bearer t", "notion-version": "2025-09-03"}


def call(stand_in, method="GET", path="/v1/users", body=None, headers=HEADERS):
    answer = stand_in(Call(method, path, headers, json.dumps(body or {}).encode()))
    return answer.status, json.loads(answer.body)


def test_its_bucket_lets_three_calls_a_second_through_and_no_more():
    now = [0.0]
    stand_in = NotionStandIn(clock=lambda: now[0])

    burst = [call(stand_in)[0] for _ in range(4)]
    now[0] = 1 / 3 + 0.001
    later = [call(stand_in)[0] for _ in range(2)]

    assert burst == [200, 200, 200, 429]
    assert later == [200, 429]
    assert stand_in.refused == 2


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"notion-version": "2025-09-03"}, 401, "unauthorized"),
        ({"authorization": "Bearer t"}, 400, "missing_version"),
    ],
)
def test_it_wants_a_token_and_a_version(headers, status, code):
    found = call(NotionStandIn(), headers=headers)

    assert (found[0], found[1]["code"]) == (status, code)


def test_rows_turn_up_in_queries_after_the_lag():
    now = [0.0]
    stand_in = NotionStandIn(rate_per_s=None, index_lag_s=3.0, clock=lambda: now[0])
    database = stand_in.add_database("d", {"Name": "title"})
    source = stand_in.databases[database]
    given = {"parent": {"data_source_id": source}, "properties": {"Name": {"title": []}}}

    call(stand_in, "POST", "/v1/pages", given)
    now[0] = 2.9
    before = call(stand_in, "POST", f"/v1/data_sources/{source}/query")[1]["results"]
    now[0] = 3.0
    after = call(stand_in, "POST", f"/v1/data_sources/{source}/query")[1]["results"]

    assert (len(before), len(after)) == (0, 1)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"select": {"name": "a,b"}}, "commas not allowed"),
        ({"rich_text": []}, "강도 is expected to be select."),
        ({"select": {"name": ""}}, "body.properties.강도.select.name should be"),
    ],
)
def test_it_refuses_values_in_notions_words(value, words):
    stand_in = NotionStandIn(rate_per_s=None)
    database = stand_in.add_database("d", {"Name": "title", "강도": "select"})
    given = {"parent": {"database_id": database}, "properties": {"강도": value}}

    status, found = call(stand_in, "POST", "/v1/pages", given)

    assert (status, found["code"]) == (400, "validation_error")
    assert words in found["message"]
    assert stand_in.rows_of(database) == []


def test_a_relation_to_a_page_that_is_not_there_is_refused():
    stand_in = NotionStandIn(rate_per_s=None)
    database = stand_in.add_database("d", {"Name": "title", "co": "relation"})
    given = {
        "parent": {"database_id": database},
        "properties": {"co": {"relation": [{"id": "11111111-1111-4111-8111-111111111111"}]}},
    }

    assert call(stand_in, "POST", "/v1/pages", given)[0] == 404
    assert stand_in.rows_of(database) == []
