import pytest

from apps.collabiq.tests.notion.world import World
from collabiq.notion import (
    NotionApi,
    NotionConflict,
    NotionForbidden,
    NotionInvalid,
    NotionNotFound,
    NotionRateLimited,
    NotionUnauthorized,
    NotionUnavailable,
    NotionUnreachable,
    RowValues,
    body_blocks,
    field_map,
    row_properties,
)
from collabiq.notion.client import SCHEMA_LIFETIME_S
from collabiq.stand_ins.notion import NotionStandIn, error
from collabiq.stand_ins.serving import Serving

FIELDS = field_map(None)


def made(world: World, email_id: str = "19a3", **values):
    source = world.api.source(world.rows)
    built = row_properties(
        RowValues(**({"email_id": email_id, "title": "소리담-서하백화점"} | values)), source, FIELDS
    )
    return world.api.create(world.rows, properties=built.properties, children=body_blocks("본문"))


def test_a_row_is_made_with_its_body_in_one_request(notion: World):
    notion.api.source(notion.rows)
    before = len(notion.serving.calls)

    row = made(notion, details="x" * 4_500)

    assert len(notion.serving.calls) - before == 1
    (stored,) = notion.stand_in.rows_of(notion.rows)
    assert stored["id"] == row.id
    assert row.url.startswith("https://")
    assert [len(each["plain_text"]) for each in stored["properties"]["협업내용"]["rich_text"]] == [
        *(2_000, 2_000, 500)
    ]
    assert len(notion.stand_in.blocks[row.id]) == 1


def test_a_row_is_found_by_the_id_of_its_mail(notion: World):
    row = made(notion, "19a3")

    found = notion.api.find(notion.rows, column="Email ID", email_ids=["19a3", "19a4"])

    assert {email_id: each.id for email_id, each in found.items()} == {"19a3": row.id}


def test_many_mails_are_looked_up_by_few_requests(notion: World):
    rows = {f"{number:x}": made(notion, f"{number:x}").id for number in range(60)}
    before = len(notion.serving.asked("POST", "/query"))

    found = notion.api.find(notion.rows, column="Email ID", email_ids=list(rows))

    assert {email_id: each.id for email_id, each in found.items()} == rows
    assert len(notion.serving.asked("POST", "/query")) - before == 2


def test_all_rows_are_read_by_pages(notion: World):
    names = {notion.add_company(f"company {number}") for number in range(250)}

    assert {row.id for row in notion.api.rows(notion.companies)} == names
    assert len(notion.serving.asked("POST", "/query")) == 3


def test_people_are_listed_without_integrations(notion: World):
    ids = [notion.stand_in.add_user(f"person {number}") for number in range(120)]
    notion.stand_in.users["bot"] = {"object": "user", "id": "bot", "type": "bot", "name": "b"}

    assert [person.id for person in notion.api.people()] == ids


def test_columns_are_asked_for_once_a_day(notion: World):
    now = [0.0]
    api = NotionApi("t", base_url=notion.serving.url, clock=lambda: now[0])

    api.source(notion.rows)
    now[0] = SCHEMA_LIFETIME_S - 1
    api.source(notion.rows)
    asked_within_a_day = len(notion.serving.asked("GET", "/databases/"))
    now[0] = SCHEMA_LIFETIME_S + 1
    api.source(notion.rows)
    api.close()

    assert asked_within_a_day == 1
    assert len(notion.serving.asked("GET", "/databases/")) == 2


def test_a_data_source_that_moved_is_found_again(notion: World):
    notion.api.source(notion.rows)
    notion.stand_in.replace_source(notion.rows)

    row = made(notion)

    assert [each["id"] for each in notion.stand_in.rows_of(notion.rows)] == [row.id]


def test_a_database_that_is_gone_is_not_asked_for_again_and_again(notion: World):
    with pytest.raises(NotionNotFound):
        notion.api.source("11111111-1111-4111-8111-111111111111")

    assert len(notion.serving.calls) == 1


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ("unauthorized", NotionUnauthorized),
        ("forbidden", NotionForbidden),
        ("conflict", NotionConflict),
        ("invalid", NotionInvalid),
    ],
)
def test_a_refusal_says_that_nothing_was_done(notion: World, fault, failure):
    notion.api.source(notion.rows)
    notion.serving.fault = fault

    with pytest.raises(failure) as failed:
        notion.api.create(notion.rows, properties={})

    assert not failed.value.unknown_outcome
    assert len(notion.serving.asked("POST", "/pages")) == 1


def test_a_lost_answer_leaves_the_outcome_unknown_and_one_row(notion: World):
    notion.api.source(notion.rows)
    notion.serving.fault = "lost_answer"

    with pytest.raises(NotionUnavailable) as failed:
        made(notion, "19a3")
    notion.serving.fault = None
    found = notion.api.find(notion.rows, column="Email ID", email_ids=["19a3"])

    assert failed.value.unknown_outcome
    assert [row["id"] for row in notion.stand_in.rows_of(notion.rows)] == [found["19a3"].id]


def test_an_overload_leaves_the_outcome_unknown(notion: World):
    notion.api.source(notion.rows)
    notion.serving.fault = "overloaded"

    with pytest.raises(NotionUnavailable) as failed:
        notion.api.create(notion.rows, properties={})

    assert (failed.value.status, failed.value.unknown_outcome) == (529, True)


def test_no_answer_in_time_leaves_the_outcome_unknown(notion: World):
    api = NotionApi("t", base_url=notion.serving.url, timeout_s=0.3)
    notion.serving.hanging.set()

    with pytest.raises(NotionUnavailable) as failed:
        api.update("11111111-1111-4111-8111-111111111111", properties={})
    api.close()

    assert failed.value.unknown_outcome
    assert len(notion.serving.calls) == 1


def test_a_refused_connection_means_that_nothing_was_sent():
    with Serving(NotionStandIn()) as serving:
        url = serving.url
    api = NotionApi("t", base_url=url)

    with pytest.raises(NotionUnreachable) as failed:
        api.source("x")
    api.close()

    assert not failed.value.unknown_outcome


def test_an_answer_that_is_no_json_leaves_the_outcome_unknown(notion: World):
    class Strange(NotionStandIn):
        def __call__(self, call):
            return error(200, "x", "y")._replace(body=b"<html>")

    with Serving(Strange()) as serving:
        api = NotionApi("t", base_url=serving.url)
        with pytest.raises(NotionUnavailable):
            api.source("x")
        api.close()


def test_a_pause_that_notion_asks_for_is_told_and_not_waited_for():
    with Serving(NotionStandIn(rate_per_s=3)) as serving:
        api = NotionApi("t", base_url=serving.url)
        failures = []
        for _ in range(5):
            with pytest.raises((NotionNotFound, NotionRateLimited)) as failed:
                api.source("11111111-1111-4111-8111-111111111111")
            failures.append(failed.value)
        api.close()

    limited = [each for each in failures if isinstance(each, NotionRateLimited)]
    assert limited
    assert {(each.retry_after_s, each.unknown_outcome) for each in limited} == {(1.0, False)}
    assert len(serving.calls) == 5


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"없음": {"number": 1}}, "없음"),
        ({"협업내용": {"number": 1}}, "협업내용"),
        ({"협업내용": {"rich_text": [{"text": {"content": "x" * 2_001}}]}}, "협업내용"),
        ({"날짜": {"date": {"start": "soon"}}}, "날짜"),
    ],
)
def test_a_refusal_names_the_column(notion: World, properties, named):
    with pytest.raises(NotionInvalid) as failed:
        notion.api.create(notion.rows, properties=properties)

    assert failed.value.property == named


def test_what_a_key_may_not_do_and_the_key_itself_stay_out_of_messages(notion: World):
    notion.serving.fault = "unauthorized"

    with pytest.raises(NotionUnauthorized) as failed:
        notion.api.source(notion.rows)

    assert "secret-token" not in f"{failed.value!r} {failed.value.__cause__!r}"
