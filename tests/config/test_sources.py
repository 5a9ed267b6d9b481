"""Where settings come from, and which source wins."""

from pathlib import Path

import pytest

from holdfast.config.settings import DEFAULT_DATABASE_URL
from holdfast.config.sources import Flag, unknown_variables
from tests.config.loading import URL, refusal, settings


def test_names_of_secret_variables_may_be_a_list_in_a_file(tmp_path: Path):
    (tmp_path / "holdfast.toml").write_text('secret_variables = ["CRM_LOGIN"]\n')

    assert settings(tmp_path).secret_variables == ("CRM_LOGIN",)


def test_the_knobs_of_the_systems_work_without_the_prefix(tmp_path: Path):
    found = settings(
        tmp_path,
        {
            "WORKER_LEASE_TTL_SEC": "45",
            "WORKER_CONCURRENCY": "3",
            "TIMEOUT_CHECK_INTERVAL_MS": "60000",
            "DATABASE_URL": URL,
        },
    )

    assert (found.worker.lease, found.worker.concurrency) == (45.0, 3)
    assert (found.worker.deadline_check, found.worker.sweep) == (60.0, 1.0)
    assert found.database_url == URL
    assert found.origin("deadline_check") == ("environment", "TIMEOUT_CHECK_INTERVAL_MS")


def test_the_prefixed_variable_wins_over_the_knob(tmp_path: Path):
    found = settings(tmp_path, {"WORKER_CONCURRENCY": "3", "HOLDFAST_CONCURRENCY": "4"})

    assert found.worker.concurrency == 4


def test_the_database_of_another_program_is_not_taken(tmp_path: Path):
    found = settings(tmp_path, {"DATABASE_URL": "mysql://u:p@h/shop"})

    assert found.database_url == DEFAULT_DATABASE_URL


def test_an_empty_variable_counts_as_not_given(tmp_path: Path):
    found = settings(tmp_path, {"HOLDFAST_APP": "", "HOLDFAST_LEASE": " "})

    assert (found.app, found.worker.lease) == (None, 30.0)


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path):
    (tmp_path / "holdfast.toml").write_text('lease = "1m"\npoll = "2s"\nsweep = "3s"\n')
    environment = {"HOLDFAST_LEASE": "4m", "HOLDFAST_POLL": "5s"}

    found = settings(tmp_path, environment, lease=Flag("--lease", "7m"))

    assert (found.worker.lease, found.worker.poll, found.worker.sweep) == (420.0, 5.0, 3.0)
    assert str(found.origin("lease")) == "flag --lease"
    assert str(found.origin("poll")) == "environment HOLDFAST_POLL"
    assert str(found.origin("sweep")) == "file holdfast.toml"
    assert str(found.origin("grace")) == "default"


def test_settings_may_stand_in_the_project_file(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "shop"\n\n[tool.holdfast]\nconcurrency = 5\nqueues = ["a", "b"]\n'
    )

    found = settings(tmp_path)

    assert (found.worker.concurrency, found.queues) == (5, ("a", "b"))
    assert found.origin("queues") == ("file", "pyproject.toml")


def test_a_file_of_its_own_stands_for_the_project_file(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[tool.holdfast]\nconcurrency = 5\n")
    (tmp_path / "holdfast.toml").write_text("processes = 6\n")

    found = settings(tmp_path)

    assert (found.worker.concurrency, found.worker.processes) == (10, 6)


def test_a_project_file_without_the_section_says_nothing(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text('[tool]\nholdfast = "no table"\n')

    assert settings(tmp_path).origins == {}


def test_a_secret_may_be_kept_in_a_file_of_its_own(tmp_path: Path):
    secret = tmp_path / "url"
    secret.write_text(f"{URL}\n")

    found = settings(tmp_path, {"HOLDFAST_DATABASE_URL_FILE": str(secret)})

    assert found.database_url == URL
    assert found.origin("database_url") == ("environment", "HOLDFAST_DATABASE_URL_FILE")


def test_a_secret_given_twice_is_refused(tmp_path: Path):
    said = refusal(
        tmp_path, {"HOLDFAST_DATABASE_URL_FILE": "/run/url", "HOLDFAST_DATABASE_URL": URL}
    )

    assert said == (
        "environment: HOLDFAST_DATABASE_URL_FILE is '/run/url'; "
        "it must be left out, as HOLDFAST_DATABASE_URL is given"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "leese = 5",
            "holdfast.toml: setting is 'leese'; it must be one of alert_deadline_within, ",
        ),
        ("lease = [1]", "holdfast.toml: lease is [1]; it must be a duration"),
        ("lease = nan", "holdfast.toml: lease is nan; it must be "),
        ("concurrency = true", "holdfast.toml: concurrency is True; it must be a whole number"),
        ("queues = 5", "holdfast.toml: queues is 5; it must be queue names"),
        ("lease =", "holdfast.toml: file is "),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str):
    (tmp_path / "holdfast.toml").write_text(text)

    assert refusal(tmp_path).startswith(said)


def test_a_bad_flag_is_refused_with_its_option(tmp_path: Path):
    said = refusal(tmp_path, grace=Flag("--grace", "long"))

    assert said.startswith("command line: --grace is 'long'; it must be a duration")


def test_variables_with_a_typing_error_are_found():
    environment = {
        "HOLDFAST_CONCURENCY": "5",
        "HOLDFAST_LEASE": "5s",
        "HOLDFAST_DATABASE_URL_FILE": "x",
        "HOLDFAST_DEBUG": "1",
        "PATH": "/bin",
    }

    assert unknown_variables(environment) == ["HOLDFAST_CONCURENCY"]


def test_the_outbox_is_set_by_the_names_that_other_systems_use(tmp_path: Path):
    environment = {
        "OUTBOX_BATCH_SIZE": "20",
        "OUTBOX_POLL_INTERVAL_MS": "2500",
        "OUTBOX_STALE_THRESHOLD_MS": "30000",
    }

    relay = settings(tmp_path, environment).relay

    assert (relay.batch_size, relay.poll_interval, relay.stale_threshold) == (20, 2.5, 30.0)
    both = {**environment, "HOLDFAST_OUTBOX_BATCH_SIZE": "7"}
    assert settings(tmp_path, both).relay.batch_size == 7
