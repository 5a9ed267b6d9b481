import json

import pytest

from holdfast import Holdfast
from tests.cli.conftest import Command, error_of

POLICY = (
    "Kept: complete 0 ms, cancelled 7 d, failed 30 d, audit 365 d, replays 90 d, "
    "deliveries 90 d, messages 7 d, inbox 30 d, figures 30 d, keys forever.\n"
)


@pytest.fixture(autouse=True)
def nothing_complete_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_KEEP_COMPLETE", "0")


def test_what_is_old_is_removed_and_counted(on_app: Command, app: Holdfast, job):
    gone, failed = [job("a"), job("b")], job("broken")

    result = on_app("purge")

    assert (result.exit_code, result.stdout) == (0, "2 jobs removed.\n")
    assert POLICY in result.stderr
    assert [view.id for view in app.jobs()] == [failed]
    assert on_app("jobs", "show", gone[0]).exit_code == 3
    assert on_app("verify").exit_code == 0


def test_a_dry_run_only_counts(on_app: Command, app: Holdfast, job):
    job("a")

    result = on_app("purge", "--dry-run")

    assert (result.exit_code, result.stdout) == (0, "1 job would go.\n")
    assert len(app.jobs()) == 1


def test_where_nothing_is_old_nothing_goes(on_app: Command, app: Holdfast):
    assert on_app("purge").stdout == "Nothing removed.\n"
    assert on_app("purge", "--dry-run").stdout == "Nothing would go.\n"


def test_programs_get_every_count(on_app: Command, app: Holdfast, job):
    job("a")

    result = on_app("purge", "--json")

    assert json.loads(result.stdout) == {
        "removed": {
            "jobs": 1,
            "letters": 0,
            "deliveries": 0,
            "replays": 0,
            "messages": 0,
            "inbox": 0,
            "figures": 0,
            "keys": 0,
            "audit": 0,
            "plans": 0,
        },
        "dry_run": False,
    }
    assert result.stderr == ""


def test_by_its_url_a_database_is_purged_only_of_what_the_settings_let_go(
    holdfast: Command,
    app: Holdfast,
    job,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
):
    """Its app may want to keep what the defaults would not."""
    job("a")
    monkeypatch.delenv("HOLDFAST_KEEP_COMPLETE")
    refused = holdfast("purge", "--database-url", database_url, "--json")
    assert refused.exit_code == 2
    assert "HOLDFAST_KEEP_COMPLETE=7d" in error_of(refused)["message"]
    assert len(app.jobs()) == 1

    monkeypatch.setenv("HOLDFAST_KEEP_COMPLETE", "0s")
    done = holdfast("purge", "--database-url", database_url)
    assert (done.exit_code, done.stdout) == (0, "1 job removed.\n")


def test_a_full_queue_refuses_a_submission_and_says_to_try_later(
    on_app: Command, app: Holdfast, monkeypatch: pytest.MonkeyPatch
):
    app.submit("convert", {"pdf": "a"})
    monkeypatch.setenv("HOLDFAST_MAX_QUEUED", "1")

    result = on_app("submit", "convert", '{"pdf": "b"}', "--json")

    assert result.exit_code == 5
    error = error_of(result)
    assert (error["code"], error["queue"], error["limit"]) == ("queue_full", "default", 1)
    assert len(app.jobs()) == 1


def test_lines_that_a_full_queue_refuses_are_told_one_by_one(
    on_app: Command, app: Holdfast, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_MAX_QUEUED", "2")
    lines = "".join(f'{{"payload": {{"pdf": "{n}"}}}}\n' for n in range(4))

    result = on_app("submit", "convert", "--from-file", "-", input=lines)

    assert result.exit_code == 1
    assert result.stdout.count("refused  2 jobs or more wait in queue 'default'") == 2
    assert len(app.jobs()) == 2
