import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command, error_of


def test_settings_are_shown_with_their_origins_and_without_secrets(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "postgresql://ada:s3cret@h/jobs")
    Path("holdfast.toml").write_text('lease = "2m"\nqueues = ["a", "b"]\n')

    result = holdfast("config", "show", "--origin", "-A", "shop:app")

    assert result.exit_code == 0
    rows = {line.split()[0]: line.split(None, 1)[1] for line in result.stdout.splitlines()}
    assert rows["database_url"].split() == [
        "postgresql://ada:***@h/jobs",
        "environment",
        "HOLDFAST_DATABASE_URL",
    ]
    assert rows["app"].split() == ["shop:app", "flag", "--app"]
    assert rows["lease"].split() == ["2m", "file", "holdfast.toml"]
    assert rows["queues"].startswith("a, b")
    assert rows["poll"].split() == ["1s", "default"]
    assert rows["keep_failed"].split() == ["30d", "default"]


def test_settings_are_one_json_object(holdfast: Command):
    plain = holdfast("config", "show", "--json")
    with_origin = holdfast("--json", "config", "show", "--origin")

    assert json.loads(plain.stdout)["concurrency"] == 10
    assert json.loads(with_origin.stdout)["lease"] == {
        "value": 30.0,
        "origin": {"kind": "default", "name": ""},
    }


def test_a_bad_setting_exits_with_two_and_names_itself(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_LEASE", "soon")

    plain = holdfast("config", "show")
    as_json = holdfast("config", "show", "--json")

    assert (plain.exit_code, as_json.exit_code) == (2, 2)
    assert plain.stderr == (
        "Error: environment: HOLDFAST_LEASE is 'soon'; "
        "it must be a duration such as 500ms, 30s or 5m\n"
    )
    error = error_of(as_json)
    assert (error["code"], error["field"]) == ("invalid_setting", "HOLDFAST_LEASE")


def test_what_each_system_uses_is_shown_with_the_variable_it_comes_from(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RETRY_MAX_ATTEMPTS", "4")
    monkeypatch.setenv("CRITICIZER_RETRY_MAX_ATTEMPTS", "6")
    monkeypatch.setenv("LLM_API_KEY", "hunter2-hunter2-hunter2")

    plain = holdfast("config", "show")
    as_json = json.loads(holdfast("config", "show", "--json").stdout)["variables"]

    rows = [line.split() for line in plain.stdout.splitlines()]
    assert ["converter", "RETRY_MAX_ATTEMPTS", "4", "environment", "RETRY_MAX_ATTEMPTS"] in rows
    assert [
        *("criticizer", "RETRY_MAX_ATTEMPTS", "6"),
        *("environment", "CRITICIZER_RETRY_MAX_ATTEMPTS"),
    ] in rows
    assert ["converter", "CIRCUIT_WINDOW", "20", "default"] in rows
    assert as_json["criticizer"]["RETRY_MAX_ATTEMPTS"] == {
        "value": "6",
        "origin": {"kind": "environment", "name": "CRITICIZER_RETRY_MAX_ATTEMPTS"},
    }
    assert as_json["criticizer"]["LLM_API_KEY"]["value"] == "***"
    assert "hunter2" not in plain.stdout
    assert not list(Path().iterdir()), "nothing is built to look at settings"


def test_of_an_app_and_of_systems_that_do_not_run_nothing_is_shown(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_SYSTEMS", "converter")

    alone = json.loads(holdfast("config", "show", "--json").stdout)["variables"]
    of_app = json.loads(holdfast("config", "show", "--json", "-A", "shop:app").stdout)["variables"]

    assert list(alone) == ["converter"]
    assert of_app == {}
