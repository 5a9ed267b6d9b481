"""The settings of what watches: metrics and alerts."""

from pathlib import Path

import pytest

from tests.config.loading import refusal, settings

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
URL = "https://hooks.example.org/services/T0/B0/unguessable"


def test_metrics_have_no_port_unless_told():
    found = settings(Path("/no/such/folder"))

    assert (found.metrics_host, found.metrics_port) == ("127.0.0.1", None)
    assert (found.alert_webhook_url, found.alert_debounce) == (None, 300)


def test_where_alerts_go_and_what_signs_them_is_shown_to_nobody(tmp_path: Path):
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    found = settings(
        tmp_path,
        {
            "HOLDFAST_ALERT_WEBHOOK_URL": URL,
            "HOLDFAST_ALERT_WEBHOOK_SECRET_FILE": str(tmp_path / "secret"),
        },
    )
    shown = {name: value for name, value, _ in found.shown()}

    assert (found.alert_webhook_url, found.alert_webhook_secret) == (URL, SECRET)
    assert shown["alert_webhook_url"] == shown["alert_webhook_secret"] == "***"
    assert "unguessable" not in repr(found)
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("METRICS_PORT", "seventy", "a whole number from 0"),
        ("TRACE_URL", "https://traces.example.org/", "{trace_id}"),
        ("TRACE_URL", "javascript:alert({trace_id})", "like https://"),
        ("TRACE_URL", "https://traces.example.org/{trace_id}/{span_id}", "{trace_id}"),
        ("ALERT_WEBHOOK_URL", "ftp://unguessable", "like https://"),
        ("ALERT_WEBHOOK_SECRET", "unguessable", "whsec_ and then 24 to 64 bytes"),
        ("ALERT_DEBOUNCE", "2d", "at most a day"),
        ("ALERT_DEADLINE_WITHIN", "-1", "duration"),
    ],
)
def test_what_is_wrong_is_named_and_no_secret_with_it(tmp_path: Path, name, value, limit):
    told = refusal(tmp_path, {f"HOLDFAST_{name}": value})

    assert name in told
    assert limit in told
    assert "unguessable" not in told
