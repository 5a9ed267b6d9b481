"""The figures by the SDK of OpenTelemetry, read from memory."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from holdfast import GiveUp, Holdfast, Pipeline, Retry
from holdfast.metrics import TABLE, Exposition, Scope
from holdfast.metrics.names import Kind
from holdfast.metrics.otel import OtelMetrics, name_of
from holdfast.testing import ManualClock, Script, drain


@pytest.fixture
def mail() -> Pipeline:
    pipeline = Pipeline("mail", retry=Retry(attempts=2, base=60))
    outcomes = (TimeoutError("a"), "sent", GiveUp("GONE", "no box"))
    pipeline.stage(name="send")(Script(*outcomes).handler)
    return pipeline


@pytest.fixture
def app(mail: Pipeline) -> Iterator[Holdfast]:
    with Holdfast("sqlite://:memory:", pipelines=[mail], clock=ManualClock()) as opened:
        yield opened


def read(app: Holdfast, mail: Pipeline, scope: Scope | None = None) -> dict[str, Any]:
    """Run two jobs, and return what is collected then by the names of the metrics."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    metrics = OtelMetrics(app, provider, scope=scope, fresh_s=0)
    for _ in range(2):
        app.submit(mail)
        drain(app)
    collected = reader.get_metrics_data()
    metrics.close()
    (of_resource,) = collected.resource_metrics
    (of_scope,) = of_resource.scope_metrics
    return {metric.name: metric for metric in of_scope.metrics}


def points(metric: Any) -> dict[tuple[str, ...], Any]:
    return {
        tuple(value for _, value in sorted(point.attributes.items())): point
        for point in metric.data.data_points
    }


def test_counters_and_gauges_are_those_of_prometheus(app: Holdfast, mail: Pipeline):
    exposition = Exposition(app, fresh_s=0)
    exposition.begin()
    found = read(app, mail)

    assert points(found["holdfast.jobs_completed"])[("mail",)].value == 1
    assert points(found["holdfast.jobs_failed"])[("GONE", "mail")].value == 1
    assert points(found["holdfast.dead_letters"])[("job",)].value == 1
    assert points(found["holdfast.dead_letters_left"])[("job",)].value == 1
    assert points(found["holdfast.store_up"])[()].value == 1
    assert found["holdfast.jobs_completed"].data.is_monotonic
    page = exposition.page().body.decode()
    lines = {line.partition("{")[0].partition(" ")[0] for line in page.splitlines()}
    shown = {metric for metric in TABLE if metric.name in lines}
    missing = [metric.name for metric in shown if name_of(metric) not in found]
    assert missing == []
    exposition.close()


def test_attempts_are_measured_as_the_conventions_have_it(app: Holdfast, mail: Pipeline):
    found = read(app, mail, Scope.PROCESS)

    process = found["messaging.process.duration"]
    assert process.unit == "s"
    counts = {
        (point.attributes["holdfast.outcome"], point.attributes.get("error.type")): point.count
        for point in process.data.data_points
    }
    assert counts == {
        ("retried", "NETWORK_TIMEOUT"): 1,
        ("completed", None): 1,
        ("failed", "GONE"): 1,
    }
    (point, *_) = process.data.data_points
    assert point.attributes["messaging.system"] == "holdfast"
    assert point.attributes["messaging.operation.name"] == "process"
    (complete, failed) = sorted(
        found["holdfast.job_processing_duration"].data.data_points,
        key=lambda each: each.attributes["holdfast.outcome"],
    )
    assert complete.sum >= 0 < failed.count
    assert "holdfast.store_up" not in found


def test_no_two_metrics_share_a_name():
    named = [name_of(metric) for metric in TABLE]

    assert len(set(named)) == len(named)
    assert not [name for name in named if name.endswith(("_total", "_seconds"))]
    assert {metric.kind for metric in TABLE} == set(Kind)
