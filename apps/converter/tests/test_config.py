import re
from contextlib import suppress
from pathlib import Path

import pytest

from converter.config import ConverterConfig
from converter.gateway.command import gateway
from converter.gateway.options import PREFIX, VARIABLES
from converter.sending import HighPriority
from converter.storage import s3
from converter.storage.open import S3_VARIABLES
from holdfast.config.settings import Settings
from holdfast.errors import InvalidSetting
from holdfast.policies import BreakerMode
from holdfast.variables import OF_PROCESS, Variables

read = ConverterConfig.from_environment
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


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
        ("UPLOADS_PER_MINUTE", "60", "uploads_per_minute", 60),
        ("UPLOAD_HIGH_PRIORITY", "Everyone", "high_priority", HighPriority.EVERYONE),
    ],
)
def test_a_variable_sets_its_knob_and_no_other(variable, written, name, value):
    found = read({variable: written})

    changed = {
        field for field in found.__slots__ if getattr(found, field) != getattr(read({}), field)
    }
    assert changed == {name}
    assert getattr(found, name) == value


@pytest.mark.parametrize(
    "variable", [name for name in sorted(described()) if name not in OF_PROCESS]
)
def test_the_systems_name_before_a_variable_sets_it_for_the_converter_and_wins(variable):
    plain, own = Variables({}, system="converter"), f"CONVERTER_{variable}"
    read(plain)
    usual = plain.readings[variable].default or (
        WEBHOOK_SECRET if variable == "CALLBACK_SECRET" else ""
    )
    given = Variables({variable: "refused: ?", own: usual or "-"}, system="converter")
    with suppress(InvalidSetting):
        read(given)

    assert given.readings[variable].variable == own
    assert not usual or read({own: usual}) == read({variable: usual})


def test_where_files_are_in_a_bucket_its_variables_are_known_too():
    given = Variables(
        {"RESULTS_DIR": "s3://bucket", "CONVERTER_AWS_REGION": "eu-1"}, system="converter"
    )
    read(given)

    assert given.readings["AWS_REGION"].variable == "CONVERTER_AWS_REGION"
    assert given.readings.keys() >= set(S3_VARIABLES)
    assert s3_names() == set(S3_VARIABLES)


def s3_names():
    return set(re.findall(r'"(AWS_\w+)"', Path(s3.__file__).read_text()))


def test_of_the_variables_of_the_gateways_command_none_is_the_converters():
    options = [f"{PREFIX}_{parameter.name.upper()}" for parameter in gateway.params]

    assert set(options) == VARIABLES
    assert {f"CONVERTER_{name}" for name in described()}.isdisjoint(VARIABLES)


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
        ("UPLOADS_PER_MINUTE", "1001"),
        ("UPLOAD_HIGH_PRIORITY", "ada"),
        ("CALLBACK_SECRET", "hunter2"),
        ("CALLBACK_PRIVATE", "true"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_variable_and_by_what_it_must_be(variable, written):
    with pytest.raises(InvalidSetting) as raised:
        read({variable: written})

    assert raised.value.field == variable
    assert f"{variable} is" in str(raised.value)
    assert "it must be" in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_callbacks_have_hosts_and_a_secret_that_is_not_shown():
    found = read(
        {"CALLBACK_HOSTS": "Hooks.example.org, *.example.net", "CALLBACK_SECRET": WEBHOOK_SECRET}
    )

    assert found.callbacks.hosts == ("hooks.example.org", "*.example.net")
    assert WEBHOOK_SECRET not in repr(found)
    with pytest.raises(InvalidSetting, match="CALLBACK_SECRET"):
        read({"CALLBACK_HOSTS": "hooks.example.org"})


def test_what_is_shown_of_it_holds_no_password():
    assert "hunter2" not in repr(read({"DATABASE_URL": "postgresql://u:hunter2@host/db"}))


def test_every_variable_is_described_and_no_other():
    given = Variables({}, system="converter")
    read(given)

    assert set(described()) == set(given.readings)


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
        "CIRCUIT_MIN_CALLS": f"{usual.breaker.minimum_calls}",
        "CIRCUIT_MIN_WORKERS": f"{usual.breaker.minimum_workers}",
        "WORKER_CONCURRENCY": f"{usual.concurrency}",
        "WORKER_LEASE_TTL_SEC": f"{usual.lease_s:g}",
        "UPLOAD_MAX_BYTES": f"{usual.upload_max_bytes}",
        "RESULT_MAX_BYTES": f"{usual.result_max_bytes}",
        "QUOTA_ACTIVE_JOBS": f"{usual.quota_active_jobs}",
        "UPLOADS_PER_MINUTE": f"{usual.uploads_per_minute}",
        "UPLOAD_HIGH_PRIORITY": usual.high_priority.value,
        "CIRCUIT_CONSECUTIVE": "5",
        "GATEWAY_MAPPINGS": "text,layout,raw",
        "CALLBACK_HOSTS": "none",
        "CALLBACK_SECRET": "none",
        "CALLBACK_PRIVATE": "no",
    }


def test_what_the_engine_reads_itself_has_the_engines_defaults():
    usual, engine = ConverterConfig(), Settings()

    assert usual.database_url == engine.database_url
    assert usual.worker_options == engine.worker


def test_the_mappings_of_another_gateway_may_be_named():
    named = ConverterConfig.from_environment({"GATEWAY_MAPPINGS": "ubl, cii ,ubl"})

    assert named.mappings == ("ubl", "cii")
    with pytest.raises(InvalidSetting, match="names with commas between them"):
        ConverterConfig.from_environment({"GATEWAY_MAPPINGS": "ubl,,cii"})


def test_failures_in_a_row_open_the_breaker_as_well():
    assert ConverterConfig.from_environment({}).breaker.consecutive == 5
    sooner = ConverterConfig.from_environment({"CIRCUIT_CONSECUTIVE": "2"})
    assert sooner.breaker.consecutive == 2
