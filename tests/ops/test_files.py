"""The files that operators take along: what they name exists, and says what to do."""

import json
import re
from functools import cache
from importlib import resources

import pytest
import yaml

from holdfast.alerts.alert import RUNBOOK
from holdfast.metrics import BY_NAME, Kind
from tests.docs.markdown import ROOT

FILES = resources.files("holdfast.ops")
OURS = re.compile(r"\b(?:holdfast|jobs?|queue|manual)_[a-z_]+\b")
SUFFIXES = ("_bucket", "_count", "_sum")
OF_SCRAPES = {"le", "instance", "job"}
"""Labels that come with a scrape or with a histogram."""
WORDS = {
    *("sum", "max", "min", "count", "by", "on", "and", "or", "unless", "rate", "increase"),
    *("histogram_quantile", "absent", "vector", "clamp_min", "time", "label_values"),
}


@cache
def rules() -> list[dict]:
    document = yaml.safe_load((FILES / "alerts.yml").read_text("utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def dashboard() -> dict:
    return json.loads((FILES / "grafana.json").read_text("utf-8"))


def expressions() -> list[str]:
    panels = [
        target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())
    ]
    variables = [
        each["query"]
        for each in dashboard()["templating"]["list"]
        if "label_values" in each["query"]
    ]
    return [*panels, *variables, *(rule["expr"] for rule in rules())]


def metric_of(name: str):
    for suffix in SUFFIXES:
        base = name.removesuffix(suffix)
        if base != name and base in BY_NAME:
            assert BY_NAME[base].kind is Kind.HISTOGRAM, name
            return BY_NAME[base]
    return BY_NAME[name]


def names_in(expression: str) -> list[str]:
    plain = re.sub(r'"[^"]*"', "", expression)
    return [name for name in OURS.findall(plain) if name not in WORDS]


def test_every_metric_that_is_named_exists():
    for expression in expressions():
        found = names_in(expression)

        assert found, expression
        assert all(metric_of(name) for name in found), expression


def test_every_metric_is_on_the_dashboard():
    shown = {metric_of(name).name for text in expressions() for name in names_in(text)}

    assert set(BY_NAME) <= shown


def test_the_dashboard_has_its_rows_and_asks_for_its_data_source():
    found = dashboard()
    rows = [panel["title"] for panel in found["panels"] if panel["type"] == "row"]

    assert rows == [
        "Now",
        "Throughput",
        "Latency",
        "Failures by class",
        "Breakers and upstreams",
        "Deliveries and messages",
        "Workers and store",
    ]
    assert found["templating"]["list"][0]["type"] == "datasource"
    ids = [panel["id"] for panel in found["panels"]]
    assert len(ids) == len(set(ids))


def headings() -> set[str]:
    text = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_rule_says_how_bad_it_is_and_where_the_runbook_tells_what_to_do(rule):
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")

    assert page == "docs/runbook.md"
    assert anchor in headings()
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]


def test_every_rule_stands_in_the_runbook_by_its_name():
    text = (ROOT / "docs" / "runbook.md").read_text("utf-8")

    missing = [rule["alert"] for rule in rules() if f"`{rule['alert']}`" not in text]
    assert missing == []


def test_every_alert_of_our_own_leads_to_a_heading_of_the_runbook():
    assert set(RUNBOOK.values()) <= headings()


def test_what_operators_of_such_systems_watch_for_is_watched():
    about = " ".join(rule["expr"] for rule in rules())

    for name in (
        "holdfast_queue_oldest_ready_age_seconds",
        "holdfast_dead_letters_total",
        "holdfast_breaker_state",
        "holdfast_workers",
        "holdfast_outbox_lag_seconds",
        "holdfast_deadline_missed_total",
        "holdfast_leases_expired_total",
        "holdfast_store_errors_total",
        "jobs_failed_total",
        "jobs_active",
    ):
        assert name in about
