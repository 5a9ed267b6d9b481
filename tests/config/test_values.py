"""What may be written for a setting."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.config.sources import Flag
from holdfast.config.values import duration_text, masked, seconds_of
from holdfast.errors import InvalidSetting
from tests.config.loading import URL, refusal, settings


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.000_25, "0.00025s"),
        (0.5, "0.5s"),
        (59.999_999, "59.999999s"),
        (300, "5m"),
        (5_400.25, "1h30m0.25s"),
        (2_592_000, "30d"),
        (31_536_000, "365d"),
    ],
)
def test_a_duration_is_shown_as_it_may_be_written(seconds: float, text: str):
    assert duration_text(seconds) == text
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 m", "-5s", "1e3", "5x", "s", True, None, [], "٣s"])
def test_what_is_no_duration_is_refused(text: object):
    with pytest.raises(ValueError, match="a duration such as 500ms, 30s or 5m"):
        seconds_of(text)


@pytest.mark.parametrize("given", ["k9Zx3Q-vT7", "CRM_LOGIN,k9Zx3Q-vT7", "k9 Zx3Q"])
def test_a_secret_written_where_its_name_belongs_is_refused_and_not_shown(
    tmp_path: Path, given: str
):
    told = refusal(tmp_path, {"HOLDFAST_SECRET_VARIABLES": given})

    assert "names of environment variables, not their values" in told
    assert "k9" not in told


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
        ("HOLDFAST_SWEEP", "1ms", "from 0.01 to 3600 seconds"),
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
