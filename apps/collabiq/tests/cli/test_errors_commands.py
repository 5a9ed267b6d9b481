"""`collabiq errors`: what failed for good, listed, shown, closed and written to files."""

import json
from pathlib import Path

import pytest

from apps.collabiq.tests.failures.conftest import World, email_pipeline
from collabiq.failures.errors import ErrorRecords
from collabiq.settings.config import Config
from holdfast import Holdfast
from holdfast.testing import ManualClock

IDS = ("19a3f3f856f0b4d4", "19a3f3f856f0b4d5", "19a3f3f856f0b4d6")


@pytest.fixture
def failed(run, environment, sqlite_url, tmp_path):
    """Three mails that failed: one of them at Gmail, two at Notion."""
    environment["DATABASE_URL"] = sqlite_url
    made: list[World] = []
    with Holdfast(
        sqlite_url,
        pipelines=[email_pipeline(lambda: made[0])],
        tables={"collabiq": "collabiq.tables"},
        clock=ManualClock(),
    ) as engine:
        config = Config(data_dir=tmp_path / "data")
        made.append(World(engine, config))
        ErrorRecords(engine, config)
        for email_id, stage in zip(
            IDS, ("gmail_fetch", "notion_write", "notion_write"), strict=True
        ):
            made[0].failing = {stage: ValueError(f"refused at {stage}")}
            made[0].mail(email_id)
    return made[0]


def entries(run, *options):
    done = run("errors", "list", "--json", *options)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["entries"]


def test_dead_letters_are_listed_oldest_first_and_by_operation(run, failed):
    every = entries(run)

    assert [entry["email_id"] for entry in every] == list(IDS)
    assert [entry["email_id"] for entry in entries(run, "--operation", "notion_write")] == list(
        IDS[1:]
    )
    assert [entry["email_id"] for entry in entries(run, "--email", IDS[0])] == [IDS[0]]
    assert entries(run, "--status", "completed") == []
    limited = json.loads(run("errors", "list", "--limit", "1", "--json").stdout)
    assert (len(limited["entries"]), limited["left_off"]) == (1, 2)


def test_nothing_waits_for_a_person_where_nothing_failed(run, environment, sqlite_url):
    environment["DATABASE_URL"] = sqlite_url

    done = run("errors", "list")

    assert done.exit_code == 0
    assert "nothing waits" in done.stderr


def test_records_of_attempts_are_listed_by_severity(run, failed):
    last = json.loads(run("errors", "list", "--records", "--severity", "ERROR", "--json").stdout)
    shown = run("errors", "list", "--records", "--operation", "gmail_fetch")
    mixed_up = run("errors", "list", "--severity", "ERROR")

    assert {record["context"]["email_id"] for record in last["errors"]} == set(IDS)
    assert IDS[0] in shown.stdout
    assert IDS[1] not in shown.stdout
    assert mixed_up.exit_code == 2
    assert "--records" in mixed_up.stderr


def test_a_dead_letter_is_shown_with_what_a_retry_would_send(run, failed):
    dlq_id = entries(run)[1]["dlq_id"]

    shown = run("errors", "show", dlq_id, "--trace")
    found = json.loads(run("errors", "show", dlq_id, "--json").stdout)

    assert "refused at notion_write" in shown.stdout
    assert "conftest.py" in shown.stdout, "the stack of the failure"
    assert found["original_payload"]["properties"]


def test_a_letter_that_is_not_there_ends_with_1(run, failed):
    shown = run("errors", "show", "dlq_20251106_101522_nothing", "--json")
    cleared = run("errors", "clear", "dlq_20251106_101522_nothing", "--reason", "x")

    assert shown.exit_code == cleared.exit_code == 1
    assert json.loads(shown.stdout)["error"]["code"] == 1


def test_what_was_seen_to_by_hand_is_closed_once(run, failed):
    dlq_id = entries(run)[0]["dlq_id"]

    done = run("errors", "clear", dlq_id, "--reason", "typed in by hand", "--json")
    again = run("errors", "clear", dlq_id, "--reason", "typed in by hand")

    assert json.loads(done.stdout) == {"cleared": [dlq_id]}
    assert [entry["status"] for entry in entries(run, "--status", "completed")] == ["completed"]
    assert again.exit_code == 1


def test_all_of_an_operation_are_closed_only_when_that_was_confirmed(run, failed):
    command = ("errors", "clear", "--operation", "notion_write", "--reason", "too old")

    declined = run(*command, input_="n\n")
    left = entries(run)
    young = json.loads(run(*command, "--before", "1000w", "--yes", "--json").stdout)
    done = json.loads(run(*command, "--yes", "--json").stdout)

    assert declined.exit_code == 1
    assert len(left) == 3
    assert young["cleared"] == []
    assert len(done["cleared"]) == 2
    assert [entry["email_id"] for entry in entries(run)] == [IDS[0]]


def test_files_are_rebuilt_and_one_that_breaks_a_rule_is_refused(run, failed, tmp_path):
    first = json.loads(run("errors", "sync", "--json").stdout)
    written = sorted((tmp_path / "data" / "dlq").rglob("dlq_*.json"))
    planted = written[0].with_name("dlq_20251106_101522_123456_19a3.json")
    planted.write_text(json.dumps(json.loads(written[0].read_text()) | {"status": "odd"}), "utf-8")
    written[1].unlink()
    second = run("errors", "sync", "--json")

    assert len(written) == 3
    assert first["refused"] == []
    assert second.exit_code == 4
    assert [Path(each["path"]).name for each in json.loads(second.stdout)["refused"]] == [
        planted.name
    ]
    assert written[1].exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("errors", "retry"),
        ("errors", "retry", "--all", "--operation", "notion_write"),
        ("errors", "clear", "--reason", "x"),
        ("errors", "list", "--since", "soon"),
    ],
)
def test_what_makes_no_sense_is_refused_as_usage(run, arguments):
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Usage:" in done.stderr
