"""Metrics and alerts are documented as they are."""

from dataclasses import fields

from holdfast.alerts import AlertKind, AlertOptions
from holdfast.metrics import TABLE
from tests.docs.markdown import ROOT
from tests.docs.test_coverage import REFERENCE, named, rows


def test_every_metric_is_documented_with_its_labels():
    documented = rows(REFERENCE / "metrics.md")

    for metric in TABLE:
        _, _, labels, says = documented[metric.name]
        assert says.rstrip(" |") == metric.says
        told = {label for label in labels.replace("`", "").split(", ") if label != "none"}
        assert told == set(metric.labels), metric.name


def test_every_alert_is_documented_where_it_is_set_up_and_where_it_is_answered():
    page = rows(ROOT / "docs" / "how-to" / "alerts.md")
    runbook = named(ROOT / "docs" / "runbook.md")

    for kind in AlertKind:
        assert kind.value in page
        assert kind.value in runbook


def test_the_settings_of_alerts_are_their_options():
    documented = rows(REFERENCE / "configuration.md")
    options = AlertOptions()

    for option in fields(AlertOptions):
        name = f"alert_{option.name}"
        if name in documented:
            assert documented[name][1] == f"{getattr(options, option.name):g} s"
    assert {"alert_debounce", "alert_deadline_within"} <= set(documented)
