"""`collabiq notion` against the stand-in of Notion."""

import json

import pytest

from collabiq.cli.commands.notion import TEST_ID
from collabiq.samples import COMPANIES, PEOPLE
from collabiq.stand_ins.world import NOTION_KEY


def rows(world):
    return [row for row in world.world.notion.rows_of(world.world.rows_id) if not row["archived"]]


def rename(world, column, name):
    source = world.world.notion.sources[world.world.notion.databases[world.world.rows_id]]
    source.schema[name] = source.schema.pop(column) | {"name": name}


def test_a_workspace_that_has_everything_is_verified(run):
    done = run("notion", "verify", "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (found["ok"], found["rows"]["missing"], found["companies"]["missing"]) == (True, [], [])
    assert found["people"] == len(PEOPLE)


def test_a_key_that_is_refused_ends_with_3_and_is_not_shown(run, world):
    world.world.notion.token = "another-key"

    done = run("notion", "verify")
    as_json = run("notion", "verify", "--json")

    assert done.exit_code == as_json.exit_code == 3
    assert json.loads(as_json.stdout)["error"]["code"] == 3
    assert NOTION_KEY not in done.output + as_json.output
    assert "Traceback" not in done.output


def test_a_database_without_email_ids_cannot_be_written_to(run, world):
    rename(world, "Email ID", "Mail")

    done = run("notion", "verify")

    assert done.exit_code == 2
    assert "Email ID" in done.stderr


def test_a_column_that_is_missing_or_of_another_kind_is_named(run, world, environment):
    rename(world, "요약", "Summary")
    rename(world, "날짜", "Summary 2")
    environment["NOTION_FIELD_MAP"] = '{"date": "협업내용"}'

    verified = json.loads(run("notion", "verify", "--json").stdout)
    fields = {
        each["field"]: each
        for each in json.loads(run("notion", "schema", "--json").stdout)["fields"]
    }
    shown = run("notion", "schema")

    assert verified["rows"]["missing"] == ["요약", "협업내용"]
    assert fields["summary"]["state"] == "missing"
    assert fields["date"]["state"] == "is of kind rich_text"
    assert fields["type"]["state"] == "ok"
    assert any(option.startswith("[A]") for option in fields["type"]["options"])
    assert "required and missing" not in shown.stdout


def test_rows_that_were_made_to_try_are_found_and_removed(run, world):
    first = json.loads(run("notion", "test-write", "--json").stdout)
    run("notion", "test-write")
    made = rows(world)
    removed = json.loads(run("notion", "cleanup-tests", "--json").stdout)["removed"]
    again = run("notion", "cleanup-tests")

    assert len(made) == len(removed) == 2
    assert first["page_id"] in removed
    assert {row["properties"]["Email ID"]["rich_text"][0]["plain_text"] for row in made} == {
        TEST_ID
    }
    assert rows(world) == []
    assert "0 test rows" in again.stdout


@pytest.mark.parametrize(
    ("command", "name", "expected"),
    [
        ("match-company", "Brigthfold", "Brightfold"),
        ("match-company", "(주)소리담", "소리담"),
        ("match-person", "김도윤 팀장", "김도윤"),
    ],
)
def test_a_name_is_matched_as_a_mail_of_it_would_be(run, command, name, expected):
    done = run("notion", command, name, "--json")

    assert done.exit_code == 0
    assert json.loads(done.stdout)["found"]["name"] == expected


def test_a_name_that_several_have_is_linked_to_none_of_them(run):
    done = run("notion", "match-company", "한빛소프트", "--json")
    shown = run("notion", "match-company", "한빛소프트")
    unknown = run("notion", "match-person", "Nobody Atall", "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == shown.exit_code == unknown.exit_code == 1
    assert (found["found"], found["ambiguous"]) == (None, True)
    assert len(found["alternatives"]) >= 2
    assert "several fit alike" in shown.stderr
    assert json.loads(unknown.stdout)["known"] == len(PEOPLE)


def test_people_are_listed_with_their_ids(run, world):
    users = json.loads(run("notion", "list-users", "--json").stdout)["users"]

    assert {user["name"] for user in users} == set(PEOPLE)
    assert {user["id"] for user in users} == set(world.world.notion.users)
    assert all("@" in user["email"] for user in users)


def test_a_command_waits_as_long_as_notion_wants(run, world):
    world.world.notion.rate_per_s = 2.0

    done = run("notion", "match-company", "Quietmeter", "--json")

    assert done.exit_code == 0
    assert json.loads(done.stdout)["known"] == len(COMPANIES)
