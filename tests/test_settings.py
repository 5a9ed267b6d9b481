from pathlib import Path
from typing import Any

import pytest

from holdfast.core.retention import DAY_S, Retention
from holdfast.errors import InvalidSetting
from holdfast.runtime.relay import RelayOptions
from holdfast.settings import (
    DEFAULT_DATABASE_URL,
    Flag,
    Settings,
    load,
    masked,
    seconds_of,
    unknown_variables,
)

BROKER = "amqp://shop:sesame@broker:5672/"
URL = "postgresql://ada:s3cret@db.example:5432/jobs?sslmode=require&password=s3cret"


def settings(folder: Path, environment: dict[str, str] | None = None, **flags: Flag) -> Settings:
    return load(environment=environment or {}, folder=folder, flags=flags)


def refusal(folder: Path, environment: dict[str, str] | None = None, **flags: Flag) -> str:
    with pytest.raises(InvalidSetting) as caught:
        settings(folder, environment, **flags)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("500ms", 0.5),
        ("250us", 0.000_25),
        ("1h30m", 5_400),
        ("2d", 172_800),
        ("1.5s", 1.5),
        (" 30S ", 30),
        ("45", 45),
        ("0.25", 0.25),
        (7, 7),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_read_in_its_unit(text: object, seconds: float):
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 m", "-5s", "1e3", "5x", "s", True, None, [], "٣s"])
def test_what_is_no_duration_is_refused(text: object):
    with pytest.raises(ValueError, match="a duration such as 500ms, 30s or 5m"):
        seconds_of(text)


def test_without_anything_given_the_defaults_hold(tmp_path: Path):
    found = settings(tmp_path)

    assert (found.database_url, found.app, found.queues) == (DEFAULT_DATABASE_URL, None, ())
    assert (found.log_level, found.log_format) == ("info", "auto")
    assert (found.worker.concurrency, found.worker.lease) == (10, 30.0)
    assert {origin.kind for _, _, origin in found.shown()} == {"default"}


def test_every_setting_has_a_variable(tmp_path: Path):
    environment = {
        "HOLDFAST_DATABASE_URL": URL,
        "HOLDFAST_APP": "shop.jobs:app",
        "HOLDFAST_QUEUES": "mail, default",
        "HOLDFAST_LOG_LEVEL": "DEBUG",
        "HOLDFAST_LOG_FORMAT": "json",
        "HOLDFAST_ERROR_LOG": "data",
        "HOLDFAST_SECRET_VARIABLES": "CRM_LOGIN, LEDGER_PIN",
        "HOLDFAST_CONCURRENCY": "32",
        "HOLDFAST_PROCESSES": "4",
        "HOLDFAST_LEASE": "1m",
        "HOLDFAST_POLL": "250ms",
        "HOLDFAST_SWEEP": "5",
        "HOLDFAST_GRACE": "0",
        "HOLDFAST_MAX_QUEUED": "10000",
        "HOLDFAST_KEEP_COMPLETE": "12h",
        "HOLDFAST_KEEP_CANCELLED": "3600",
        "HOLDFAST_KEEP_FAILED": "forever",
        "HOLDFAST_KEEP_AUDIT": "2d",
        "HOLDFAST_KEEP_REPLAYS": "0",
        "HOLDFAST_KEEP_MESSAGES": "1d",
        "HOLDFAST_KEEP_INBOX": "14d",
        "HOLDFAST_BROKER_URL": BROKER,
        "HOLDFAST_EXCHANGE": "grading",
        "HOLDFAST_OUTBOX_BATCH_SIZE": "100",
        "HOLDFAST_OUTBOX_POLL_INTERVAL": "1s",
        "HOLDFAST_OUTBOX_STALE_THRESHOLD": "5m",
        "HOLDFAST_OUTBOX_PUBLISH_TIMEOUT": "20",
        "HOLDFAST_OUTBOX_LEASE": "1m",
    }

    found = settings(tmp_path, environment)

    assert found.database_url == URL
    assert found.app == "shop.jobs:app"
    assert found.queues == ("mail", "default")
    assert (found.log_level, found.log_format) == ("debug", "json")
    assert (found.error_log, found.secret_variables) == ("data", ("CRM_LOGIN", "LEDGER_PIN"))
    worker = found.worker
    assert (worker.concurrency, worker.processes) == (32, 4)
    assert (worker.lease, worker.poll, worker.sweep, worker.grace) == (60.0, 0.25, 5.0, 0.0)
    assert (found.broker_url, found.exchange) == (BROKER, "grading")
    assert found.relay == RelayOptions(
        batch_size=100, poll_interval=1.0, stale_threshold=300.0, publish_timeout=20.0, lease=60.0
    )
    assert found.max_queued == 10_000
    assert found.retention == Retention(
        complete=43_200,
        cancelled=3_600,
        failed=None,
        audit=172_800,
        replays=0,
        messages=86_400,
        inbox=1_209_600,
    )
    assert {name for name, _, _ in found.shown()} == {
        name.removeprefix("HOLDFAST_").lower() for name in environment
    }
    assert all(
        origin == ("environment", f"HOLDFAST_{name.upper()}") for name, _, origin in found.shown()
    )


@pytest.mark.parametrize("given", ["k9Zx3Q-vT7", "CRM_LOGIN,k9Zx3Q-vT7", "k9 Zx3Q"])
def test_a_secret_written_where_its_name_belongs_is_refused_and_not_shown(
    tmp_path: Path, given: str
):
    told = refusal(tmp_path, {"HOLDFAST_SECRET_VARIABLES": given})

    assert "names of environment variables, not their values" in told
    assert "k9" not in told


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

    assert (found.worker.lease, found.worker.concurrency, found.worker.sweep) == (45.0, 3, 60.0)
    assert found.database_url == URL
    assert found.origin("sweep") == ("environment", "TIMEOUT_CHECK_INTERVAL_MS")


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
    ("environment", "said"),
    [
        (
            {"HOLDFAST_LEASE": "soon"},
            "environment: HOLDFAST_LEASE is 'soon'; it must be a duration such as 500ms, 30s or 5m",
        ),
        (
            {"HOLDFAST_CONCURRENCY": "many"},
            "environment: HOLDFAST_CONCURRENCY is 'many'; it must be a whole number",
        ),
        (
            {"HOLDFAST_LOG_LEVEL": "loud"},
            (
                "environment: HOLDFAST_LOG_LEVEL is 'loud'; "
                "it must be one of debug, info, warning, error, critical"
            ),
        ),
        (
            {"HOLDFAST_LOG_FORMAT": "xml"},
            "environment: HOLDFAST_LOG_FORMAT is 'xml'; it must be one of auto, json, console",
        ),
        (
            {"HOLDFAST_QUEUES": "a b"},
            (
                "environment: HOLDFAST_QUEUES is 'a b'; it must be queue names, each a letter, "
                "then letters, digits, '_', '.' or '-', at most 64 characters"
            ),
        ),
        (
            {"HOLDFAST_DATABASE_URL_FILE": "/no/such/file"},
            (
                "environment: HOLDFAST_DATABASE_URL_FILE is '/no/such/file'; "
                "it must be the path of a file that can be read (No such file or directory)"
            ),
        ),
        (
            {"HOLDFAST_APP": "a\x1bb"},
            "environment: HOLDFAST_APP is 'a\\x1bb'; it must be printable text",
        ),
    ],
)
def test_a_bad_value_is_refused_with_its_variable_and_its_limit(
    tmp_path: Path, environment: dict[str, str], said: str
):
    assert refusal(tmp_path, environment) == said


@pytest.mark.parametrize(
    ("variable", "value", "limit"),
    [
        ("HOLDFAST_LEASE", "2d", "from 0.1 to 86400 seconds"),
        ("WORKER_LEASE_TTL_SEC", "0", "from 0.1 to 86400 seconds"),
        ("TIMEOUT_CHECK_INTERVAL_MS", "1", "from 0.01 to 3600 seconds"),
        ("HOLDFAST_CONCURRENCY", "0", "from 1 to 10000"),
    ],
)
def test_a_value_outside_its_range_is_refused_with_the_range(
    tmp_path: Path, variable: str, value: str, limit: str
):
    said = refusal(tmp_path, {variable: value})

    assert said.startswith(f"environment: {variable} is '{value}'; it must be ")
    assert said.endswith(limit)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ada:s3cret@h/shop",
        "postgresql://ada:s3cret@h:port/shop",
        "postgresql://ada:s3cret@[h/shop",
        "s3cret",
    ],
)
def test_a_bad_database_url_is_refused_without_its_password(tmp_path: Path, url: str):
    secret = tmp_path / "url"
    secret.write_text(url)
    given: list[dict[str, Any]] = [
        {"environment": {"HOLDFAST_DATABASE_URL": url}},
        {"environment": {"HOLDFAST_DATABASE_URL_FILE": str(secret)}},
        {"database_url": Flag("--database-url", url)},
    ]

    for sources in given:
        said = refusal(tmp_path, **sources)

        assert "s3cret" not in said
        assert "it must be like sqlite:///holdfast.db or postgresql://host/database" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leese = 5", "holdfast.toml: setting is 'leese'; it must be one of app, broker_url, "),
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


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, "postgresql://ada:***@db.example:5432/jobs?sslmode=require&password=***"),
        ("postgresql://ada@h/jobs", "postgresql://ada@h/jobs"),
        ("postgresql:///jobs", "postgresql:///jobs"),
        ("postgres://u:a:b@h/jobs", "postgres://u:***@h/jobs"),
        ("sqlite:////var/lib/holdfast.db", "sqlite:////var/lib/holdfast.db"),
        ("sqlite://:memory:", "sqlite://:memory:"),
        ("mysql://u:p@h/x", "mysql:…"),
        ("s3cret", "…"),
        ("postgresql://u:p@[h", "…"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str):
    assert masked(url) == shown


def test_the_settings_never_show_a_password(tmp_path: Path):
    found = settings(tmp_path, {"HOLDFAST_DATABASE_URL": URL})

    assert "s3cret" not in repr(found)
    assert "s3cret" not in repr(list(found.shown()))


def test_variables_with_a_typing_error_are_found():
    environment = {
        "HOLDFAST_CONCURENCY": "5",
        "HOLDFAST_LEASE": "5s",
        "HOLDFAST_DATABASE_URL_FILE": "x",
        "HOLDFAST_DEBUG": "1",
        "PATH": "/bin",
    }

    assert unknown_variables(environment) == ["HOLDFAST_CONCURENCY"]


@pytest.mark.parametrize("text", ["soon", "-1d", "for ever", "200000d", ""])
def test_what_is_no_time_to_keep_something_is_refused(tmp_path: Path, text: str):
    (tmp_path / "holdfast.toml").write_text(f'keep_failed = "{text}"\n')

    said = refusal(tmp_path)

    assert said == (
        f"holdfast.toml: keep_failed is {text!r}; "
        "it must be a duration such as 12h or 7d, or forever"
    )


@pytest.mark.parametrize("text", ["0", "-5", "many", "1000000001", "1.5"])
def test_a_limit_of_a_queue_that_makes_no_sense_is_refused(tmp_path: Path, text: str):
    said = refusal(tmp_path, {"HOLDFAST_MAX_QUEUED": text})

    assert said.startswith(f"environment: HOLDFAST_MAX_QUEUED is {text!r}; it must be a whole")


def test_what_an_operator_keeps_changes_what_the_program_keeps_and_nothing_else(tmp_path: Path):
    own = Retention(complete=DAY_S, cancelled=None, failed=DAY_S)

    assert not settings(tmp_path).keeps()
    assert settings(tmp_path).kept_over(own) == own
    found = settings(tmp_path, {"HOLDFAST_KEEP_COMPLETE": "forever", "HOLDFAST_KEEP_AUDIT": "9d"})
    assert found.keeps()
    assert found.kept_over(own) == Retention(
        complete=None, cancelled=None, failed=DAY_S, audit=9 * DAY_S
    )


def test_what_is_kept_for_ever_is_shown_so(tmp_path: Path):
    found = settings(tmp_path, {"HOLDFAST_KEEP_FAILED": "Forever"})

    shown = {name: value for name, value, _ in found.shown()}
    assert (shown["keep_failed"], shown["keep_complete"]) == ("forever", 7 * DAY_S)
    assert shown["max_queued"] is None


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


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("OUTBOX_BATCH_SIZE", "0", "OUTBOX_BATCH_SIZE is '0'; it must be a whole number from 1"),
        ("OUTBOX_POLL_INTERVAL_MS", "soon", "OUTBOX_POLL_INTERVAL_MS is 'soon'; it must be a dur"),
        ("HOLDFAST_OUTBOX_PUBLISH_TIMEOUT", "1h", "HOLDFAST_OUTBOX_PUBLISH_TIMEOUT is '1h'; it m"),
        ("HOLDFAST_BROKER_URL", "sesame", "HOLDFAST_BROKER_URL is '…'; it must be like amqp://"),
    ],
)
def test_a_setting_of_the_relay_that_makes_no_sense_is_named(
    tmp_path: Path, variable: str, value: str, said: str
):
    with pytest.raises(InvalidSetting) as raised:
        settings(tmp_path, {variable: value})
    assert said in str(raised.value)


def test_the_password_of_the_broker_is_shown_nowhere(tmp_path: Path):
    found = settings(tmp_path, {"HOLDFAST_BROKER_URL": BROKER})

    shown = {name: value for name, value, _ in found.shown()}
    assert shown["broker_url"] == "amqp://shop:***@broker:5672/"
    assert "sesame" not in repr(found)
