import re
from pathlib import Path

import pytest

from converter import config
from converter.config import ConverterConfig
from holdfast import BreakerMode, presets
from holdfast.errors import InvalidSetting
from holdfast.settings import Settings

read = ConverterConfig.from_environment


def delays_s(retry, failures, *, roll):
    return [
        retry.delay_us(failures=number, roll=roll, retry_after_us=None) / 1e6
        for number in range(1, failures + 1)
    ]


def test_without_variables_everything_is_as_usual():
    found = read({})

    assert found == ConverterConfig()
    assert found.retry.attempts == 3
    assert found.upload_max_bytes == 50 * 1024 * 1024
    assert found.breaker.mode is BreakerMode.HOLD
    assert (found.breaker.over_calls, found.breaker.failure_rate) == (20, 0.5)


def test_what_is_empty_counts_as_not_set():
    assert read(dict.fromkeys(["RETRY_MAX_ATTEMPTS", "GATEWAY_URL", "CIRCUIT_MODE"], " ")) == read(
        {}
    )


def test_variables_of_others_are_left_alone():
    assert read({"PATH": "/bin", "HOLDFAST_PORT": "x"}) == read({})


def test_delays_double_and_up_to_five_seconds_are_added_by_default():
    retry = read({}).retry

    assert delays_s(retry, 3, roll=0.0) == [5.0, 10.0, 20.0]
    assert delays_s(retry, 3, roll=1.0) == [10.0, 15.0, 25.0]


def test_the_fixed_profile_waits_5_15_and_45_seconds_give_or_take_a_fifth():
    retry = read({"RETRY_PROFILE": "fixed"}).retry

    assert delays_s(retry, 3, roll=0.5) == [5.0, 15.0, 45.0]
    assert delays_s(retry, 3, roll=0.0) == [4.0, 12.0, 36.0]
    assert delays_s(retry, 3, roll=1.0) == [6.0, 18.0, 54.0]


def test_the_fixed_profile_grows_from_the_first_delay_as_well():
    retry = read({"RETRY_PROFILE": "FIXED", "RETRY_BASE_DELAY_MS": "60000"}).retry

    assert delays_s(retry, 3, roll=0.5) == [60.0, 180.0, 540.0]


def test_delays_can_be_made_short_for_tests():
    retry = read({"RETRY_BASE_DELAY_MS": "10", "RETRY_JITTER_MAX_MS": "0"}).retry

    assert delays_s(retry, 3, roll=0.9) == [0.01, 0.02, 0.04]


@pytest.mark.parametrize(
    ("written", "mode"), [("hold", BreakerMode.HOLD), ("fail-fast", BreakerMode.FAIL_FAST)]
)
def test_the_breaker_holds_jobs_or_fails_them(written, mode):
    breaker = read(
        {
            "CIRCUIT_MODE": written,
            "CIRCUIT_WINDOW": "4",
            "CIRCUIT_FAIL_THRESHOLD": "0.25",
            "CIRCUIT_COOLDOWN_MS": "250",
        }
    ).breaker

    assert (breaker.mode, breaker.over_calls) == (mode, 4)
    assert (breaker.failure_rate, breaker.cooldown) == (0.25, 0.25)


@pytest.mark.parametrize(("cooldown_ms", "release_s"), [("250", 0.25), ("30000", 10.0)])
def test_calls_are_let_through_gradually_for_no_longer_than_the_cooldown(cooldown_ms, release_s):
    assert read({"CIRCUIT_COOLDOWN_MS": cooldown_ms}).breaker.release == release_s


@pytest.mark.parametrize(
    ("variable", "written", "name", "value"),
    [
        ("DATABASE_URL", "postgresql://u:p@host/db", "database_url", "postgresql://u:p@host/db"),
        ("GATEWAY_URL", "http://gateway:80/", "gateway_url", "http://gateway:80"),
        ("UPLOADS_DIR", "/srv/uploads", "uploads_dir", "/srv/uploads"),
        ("RESULTS_DIR", "s3://bucket/results", "results_dir", "s3://bucket/results"),
        ("STORAGE_MIN_FREE_BYTES", "0", "min_free_bytes", 0),
        ("GATEWAY_TIMEOUT_MS", "1500", "gateway_timeout_s", 1.5),
        ("GATEWAY_IDLE_TIMEOUT_MS", "250", "gateway_idle_timeout_s", 0.25),
        ("WORKER_LEASE_TTL_SEC", "0.5", "lease_s", 0.5),
        ("WORKER_CONCURRENCY", "32", "concurrency", 32),
        ("RETENTION_DAYS", "0.00001", "retention_days", 0.00001),
        ("UPLOAD_MAX_BYTES", "1000", "upload_max_bytes", 1000),
        ("RESULT_MAX_BYTES", "1000", "result_max_bytes", 1000),
        ("QUOTA_ACTIVE_JOBS", "3", "quota_active_jobs", 3),
    ],
)
def test_a_variable_sets_its_knob_and_no_other(variable, written, name, value):
    found = read({variable: written})

    changed = {
        field for field in found.__slots__ if getattr(found, field) != getattr(read({}), field)
    }
    assert changed == {name}
    assert getattr(found, name) == value


def test_a_worker_gets_its_lease_and_its_concurrency():
    options = read({"WORKER_LEASE_TTL_SEC": "12", "WORKER_CONCURRENCY": "7"}).worker_options

    assert (options.lease, options.concurrency) == (12.0, 7)


@pytest.mark.parametrize(
    ("variable", "written"),
    [
        ("RETRY_MAX_ATTEMPTS", "0"),
        ("RETRY_MAX_ATTEMPTS", "three"),
        ("RETRY_BASE_DELAY_MS", "-1"),
        ("RETRY_JITTER_MAX_MS", "1.5"),
        ("RETRY_PROFILE", "linear"),
        ("WORKER_LEASE_TTL_SEC", "0"),
        ("WORKER_LEASE_TTL_SEC", "1e9"),
        ("GATEWAY_TIMEOUT_MS", "0"),
        ("GATEWAY_IDLE_TIMEOUT_MS", "30s"),
        ("WORKER_CONCURRENCY", "0"),
        ("CIRCUIT_WINDOW", "0"),
        ("CIRCUIT_FAIL_THRESHOLD", "50"),
        ("CIRCUIT_COOLDOWN_MS", "soon"),
        ("CIRCUIT_MODE", "open"),
        ("DATABASE_URL", "mysql://u:hunter2@host/db"),
        ("DATABASE_URL", "hunter2"),
        ("GATEWAY_URL", "http://u:hunter2@gateway"),
        ("GATEWAY_URL", "gateway"),
        ("UPLOADS_DIR", "s3://u:hunter2@bucket"),
        ("RESULTS_DIR", "https://bucket"),
        ("RETENTION_DAYS", "0"),
        ("RETENTION_DAYS", "-1"),
        ("RETENTION_DAYS", "for ever"),
        ("UPLOAD_MAX_BYTES", "50MB"),
        ("RESULT_MAX_BYTES", "0"),
        ("QUOTA_ACTIVE_JOBS", "0"),
        ("QUOTA_ACTIVE_JOBS", "٣"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_variable_and_by_what_it_must_be(variable, written):
    with pytest.raises(InvalidSetting) as raised:
        read({variable: written})

    assert raised.value.field == variable
    assert f"{variable} is" in str(raised.value)
    assert "it must be" in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_what_is_shown_of_it_holds_no_password():
    assert "hunter2" not in repr(read({"DATABASE_URL": "postgresql://u:hunter2@host/db"}))


def described():
    """The defaults that the page names, by variable."""
    text = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    settings = text.partition("\n## Settings")[2]
    rows = re.findall(r"^\| (`[A-Z].*?) \| (.*?) \|", settings, re.MULTILINE)
    return {
        name: default
        for names, defaults in rows
        for name, default in zip(
            re.findall(r"`(\w+)`", names), defaults.replace("`", "").split(", "), strict=True
        )
    }


def test_every_variable_is_described_and_no_other():
    names = re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', Path(config.__file__).read_text())
    names += [value for name, value in vars(presets).items() if name.endswith("_VARIABLE")]

    assert set(described()) == set(names)


def test_the_defaults_are_described_as_they_are():
    usual = ConverterConfig()

    assert described() == {
        "DATABASE_URL": usual.database_url,
        "GATEWAY_URL": usual.gateway_url,
        "GATEWAY_TIMEOUT_MS": f"{usual.gateway_timeout_s * 1000:.0f}",
        "GATEWAY_IDLE_TIMEOUT_MS": f"{usual.gateway_idle_timeout_s * 1000:.0f}",
        "UPLOADS_DIR": usual.uploads_dir,
        "RESULTS_DIR": usual.results_dir,
        "STORAGE_MIN_FREE_BYTES": f"{usual.min_free_bytes}",
        "RETENTION_DAYS": f"{usual.retention_days:g}",
        "RETRY_MAX_ATTEMPTS": f"{usual.retry.attempts}",
        "RETRY_PROFILE": "exponential",
        "RETRY_BASE_DELAY_MS": f"{usual.retry.base * 1000:.0f}",
        "RETRY_JITTER_MAX_MS": f"{usual.retry.spread * 1000:.0f}",
        "CIRCUIT_MODE": "hold",
        "CIRCUIT_WINDOW": f"{usual.breaker.over_calls}",
        "CIRCUIT_FAIL_THRESHOLD": f"{usual.breaker.failure_rate:g}",
        "CIRCUIT_COOLDOWN_MS": f"{usual.breaker.cooldown * 1000:.0f}",
        "WORKER_CONCURRENCY": f"{usual.concurrency}",
        "WORKER_LEASE_TTL_SEC": f"{usual.lease_s:g}",
        "UPLOAD_MAX_BYTES": f"{usual.upload_max_bytes}",
        "RESULT_MAX_BYTES": f"{usual.result_max_bytes}",
        "QUOTA_ACTIVE_JOBS": f"{usual.quota_active_jobs}",
    }


def test_what_the_engine_reads_itself_has_the_engines_defaults():
    usual, engine = ConverterConfig(), Settings()

    assert usual.database_url == engine.database_url
    assert usual.worker_options == engine.worker
