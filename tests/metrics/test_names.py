"""The table of metrics: the names that others rely on, and that what is told is what it says."""

import re

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from holdfast import GiveUp, Pipeline
from holdfast.metrics import BY_NAME, TABLE, Kind
from holdfast.testing import Script, drain

CONVERTER = {
    "jobs_failed_total": "error_code",
    "job_processing_duration_seconds": None,
    "queue_depth": None,
    "jobs_active": None,
    "manual_retry_total": None,
}
RELIABILITY = {
    "holdfast_jobs_created_total",
    "holdfast_jobs_completed_total",
    "holdfast_upstream_call_seconds",
    "holdfast_retries_scheduled_total",
    "holdfast_breaker_open_seconds_total",
}
EXPECTED = {
    "holdfast_jobs": {"state", "queue"},
    "holdfast_queue_oldest_ready_age_seconds": set(),
    "holdfast_job_wait_seconds": set(),
    "holdfast_attempt_duration_seconds": set(),
    "holdfast_attempts_total": {"outcome", "error_class"},
    "holdfast_retries_scheduled_total": set(),
    "holdfast_dead_letters": {"kind"},
    "holdfast_dead_letters_total": {"kind"},
    "holdfast_breaker_state": {"upstream"},
    "holdfast_rate_limited_until_timestamp_seconds": set(),
    "holdfast_retry_budget_ratio": set(),
    "holdfast_leases_expired_total": set(),
    "holdfast_deliveries": {"state", "provider"},
    "holdfast_delivery_lag_seconds": set(),
    "holdfast_deadline_missed_total": set(),
    "holdfast_workers": set(),
    "holdfast_worker_slots_busy": set(),
    "holdfast_stuck_threads": set(),
    "holdfast_store_operation_seconds": set(),
    "holdfast_build_info": set(),
}
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def test_the_names_that_the_specifications_give_exist_as_they_are_spelled():
    for name, label in CONVERTER.items():
        assert name in BY_NAME
        assert label is None or label in BY_NAME[name].labels
    assert set(BY_NAME) >= RELIABILITY


def test_the_names_that_users_of_such_systems_expect_exist():
    for name, labels in EXPECTED.items():
        assert labels <= set(BY_NAME[name].labels), name


def test_names_say_their_unit_and_labels_are_few():
    for metric in TABLE:
        assert re.fullmatch(r"[a-z][a-z_]*", metric.name)
        assert (metric.kind is Kind.COUNTER) <= metric.name.endswith("_total")
        assert (metric.kind is Kind.HISTOGRAM) <= metric.name.endswith("_seconds")
        assert len(metric.labels) <= 4
        assert not {"id", "job_id", "owner", "key", "recipient", "url"} & {*metric.labels}


def test_all_that_is_told_is_in_the_table_and_the_other_way_round(open_app, scrapes):
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(Script(1, GiveUp("NO")).handler)
    app = open_app(pipeline)
    scraped = scrapes(app)
    app.submit("p")
    app.submit("p")
    drain(app)
    accept = "application/openmetrics-text; version=1.0.0"
    page = scraped.exposition.page(accept)

    families = {f.name: f for f in text_string_to_metric_families(page.body.decode())}
    ours = {name: f for name, f in families.items() if not name.startswith("process_")}
    assert page.content_type.startswith("application/openmetrics-text")
    assert set(ours) == {metric.family for metric in TABLE}
    for metric in TABLE:
        family = ours[metric.family]
        assert family.type == metric.kind.value, metric.name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels), metric.name


def test_no_id_stands_in_the_metrics(open_app, scrapes):
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(Script(then=GiveUp("NO", "hunter2")).handler)
    app = open_app(pipeline)
    scraped = scrapes(app)
    job = app.submit("p", {"card": "4111111111111111"}, key="order-17", owner="ada")
    drain(app)

    text = scraped.text()
    assert 'jobs_failed_total{error_code="NO",pipeline="p"} 1.0' in text
    assert not ID.search(text)
    for hidden in (job.id, "order-17", "ada", "hunter2", "4111111111111111"):
        assert hidden not in text


def test_a_secret_that_somebody_made_a_name_of_is_not_told(open_app, scrapes):
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(Script(then=GiveUp(key)).handler)
    app = open_app(pipeline)
    scraped = scrapes(app)
    app.submit("p")
    drain(app)

    text = scraped.text()
    assert 'outcome="failed"' in text
    assert key not in text
