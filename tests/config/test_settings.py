"""The record of all settings."""

from pathlib import Path

from holdfast.config.settings import DEFAULT_DATABASE_URL
from holdfast.core.values.retention import DAY_S, Retention
from holdfast.runtime.outbox.relay import RelayOptions
from tests.config.loading import BROKER, TOKEN, URL, settings

DIRECT_URL = "postgresql://shop:s3cret@db:5433/shop"
SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_without_anything_given_the_defaults_hold(tmp_path: Path):
    found = settings(tmp_path)

    assert (found.database_url, found.app, found.queues) == (DEFAULT_DATABASE_URL, None, ())
    assert (found.log_level, found.log_format) == ("info", "auto")
    assert (found.worker.concurrency, found.worker.lease) == (10, 30.0)
    assert {origin.kind for _, _, origin in found.shown()} == {"default"}


def test_every_setting_has_a_variable(tmp_path: Path):
    environment = {
        "HOLDFAST_DATABASE_URL": URL,
        "HOLDFAST_DATABASE_DIRECT_URL": DIRECT_URL,
        "HOLDFAST_APP": "shop.jobs:app",
        "HOLDFAST_SYSTEMS": "converter,grading",
        "HOLDFAST_HOST": "::1",
        "HOLDFAST_PORT": "8080",
        "HOLDFAST_HOST_NAMES": "jobs.example.org,*.example.com",
        "HOLDFAST_HTTPS": "true",
        "HOLDFAST_API_TOKEN": TOKEN,
        "HOLDFAST_QUEUES": "mail, default",
        "HOLDFAST_LOG_LEVEL": "DEBUG",
        "HOLDFAST_LOG_FORMAT": "json",
        "HOLDFAST_ERROR_LOG": "data",
        "HOLDFAST_METRICS_HOST": "0.0.0.0",
        "HOLDFAST_TRACE_URL": "https://traces.example.org/{trace_id}",
        "HOLDFAST_METRICS_PORT": "9100",
        "HOLDFAST_ALERT_WEBHOOK_URL": "https://example.org/hooks",
        "HOLDFAST_ALERT_WEBHOOK_SECRET": SIGNING,
        "HOLDFAST_ALERT_DEBOUNCE": "1m",
        "HOLDFAST_ALERT_DEADLINE_WITHIN": "10m",
        "HOLDFAST_SECRET_VARIABLES": "CRM_LOGIN, LEDGER_PIN",
        "HOLDFAST_CONCURRENCY": "32",
        "HOLDFAST_PROCESSES": "4",
        "HOLDFAST_LEASE": "1m",
        "HOLDFAST_POLL": "250ms",
        "HOLDFAST_SWEEP": "5",
        "HOLDFAST_DEADLINE_CHECK": "10s",
        "HOLDFAST_GRACE": "0",
        "HOLDFAST_MAX_QUEUED": "10000",
        "HOLDFAST_KEEP_COMPLETE": "12h",
        "HOLDFAST_KEEP_CANCELLED": "3600",
        "HOLDFAST_KEEP_FAILED": "forever",
        "HOLDFAST_KEEP_AUDIT": "2d",
        "HOLDFAST_KEEP_REPLAYS": "0",
        "HOLDFAST_KEEP_DELIVERIES": "30d",
        "HOLDFAST_KEEP_MESSAGES": "1d",
        "HOLDFAST_KEEP_INBOX": "14d",
        "HOLDFAST_KEEP_FIGURES": "30d",
        "HOLDFAST_KEEP_KEYS": "365d",
        "HOLDFAST_BROKER_URL": BROKER,
        "HOLDFAST_EXCHANGE": "grading",
        "HOLDFAST_REPLY_TO": "grades",
        "HOLDFAST_OUTBOX_BATCH_SIZE": "100",
        "HOLDFAST_OUTBOX_POLL_INTERVAL": "1s",
        "HOLDFAST_OUTBOX_STALE_THRESHOLD": "5m",
        "HOLDFAST_OUTBOX_PUBLISH_TIMEOUT": "20",
        "HOLDFAST_OUTBOX_LEASE": "1m",
        "HOLDFAST_OUTBOX_GATHER": "50ms",
    }

    found = settings(tmp_path, environment)

    assert (found.database_url, found.database_direct_url) == (URL, DIRECT_URL)
    assert found.app == "shop.jobs:app"
    assert found.systems == ("converter", "grading")
    assert (found.host_names, found.https) == (("jobs.example.org", "*.example.com"), True)
    assert (found.host, found.port, found.api_token) == ("::1", 8080, TOKEN)
    assert found.queues == ("mail", "default")
    assert (found.log_level, found.log_format) == ("debug", "json")
    assert (found.error_log, found.secret_variables) == ("data", ("CRM_LOGIN", "LEDGER_PIN"))
    assert found.trace_url == "https://traces.example.org/{trace_id}"
    assert (found.metrics_host, found.metrics_port) == ("0.0.0.0", 9100)
    assert found.alert_webhook_url == "https://example.org/hooks"
    assert (found.alert_debounce, found.alert_deadline_within) == (60, 600)
    worker = found.worker
    assert (worker.concurrency, worker.processes) == (32, 4)
    assert (worker.lease, worker.poll, worker.grace) == (60.0, 0.25, 0.0)
    assert (worker.sweep, worker.deadline_check) == (5.0, 10.0)
    assert (found.broker_url, found.exchange, found.reply_to) == (BROKER, "grading", "grades")
    assert found.relay == RelayOptions(
        batch_size=100,
        poll_interval=1.0,
        stale_threshold=300.0,
        publish_timeout=20.0,
        lease=60.0,
        gather=0.05,
    )
    assert found.max_queued == 10_000
    assert found.retention == Retention(
        complete=43_200,
        cancelled=3_600,
        failed=None,
        audit=172_800,
        replays=0,
        deliveries=2_592_000,
        messages=86_400,
        inbox=1_209_600,
        keys=31_536_000,
    )
    assert {name for name, _, _ in found.shown()} == {
        name.removeprefix("HOLDFAST_").lower() for name in environment
    }
    assert all(
        origin == ("environment", f"HOLDFAST_{name.upper()}") for name, _, origin in found.shown()
    )


def test_the_settings_never_show_a_password(tmp_path: Path):
    urls = {"HOLDFAST_DATABASE_URL": URL, "HOLDFAST_DATABASE_DIRECT_URL": DIRECT_URL}
    found = settings(tmp_path, urls)

    assert "s3cret" not in repr(found)
    assert "s3cret" not in repr(list(found.shown()))


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


def test_the_password_of_the_broker_is_shown_nowhere(tmp_path: Path):
    found = settings(tmp_path, {"HOLDFAST_BROKER_URL": BROKER})

    shown = {name: value for name, value, _ in found.shown()}
    assert shown["broker_url"] == "amqp://shop:***@broker:5672/"
    assert "sesame" not in repr(found)
