"""What the rules and the dashboard ask of Prometheus is sound, and is about metrics of ours."""

import re
from collections.abc import Iterator

import promql_parser as promql
import pytest

from holdfast.metrics import Kind
from tests.ops.test_files import OF_SCRAPES, dashboard, metric_of, rules

OVER_TIME = {"rate", "increase"}
GAUGES = {Kind.GAUGE}
RISING = {Kind.COUNTER, Kind.HISTOGRAM, Kind.UNTYPED}


def asked() -> list[str]:
    """All expressions; Grafana's own variables stand for a span of time."""
    panels = [
        target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())
    ]
    found = [*panels, *(rule["expr"] for rule in rules())]
    return [re.sub(r"\[\$__\w+\]", "[5m]", text) for text in found]


def parts_of(node: promql.Expr) -> list[promql.Expr]:
    match node:
        case promql.BinaryExpr():
            return [node.lhs, node.rhs]
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr():
            return [node.expr]
        case promql.Call():
            return list(node.args)
        case _:
            return []


def walk(node: promql.Expr, *, within: str = "") -> Iterator[tuple[promql.Expr, str]]:
    """Every node, and the function that it is given to."""
    yield node, within
    name = node.func.name if isinstance(node, promql.Call) else ""
    for part in parts_of(node):
        yield from walk(part, within=name)


def selectors(node: promql.Expr) -> Iterator[tuple[promql.VectorSelector, str]]:
    for each, within in walk(node):
        if isinstance(each, promql.VectorSelector):
            yield each, within
        elif isinstance(each, promql.MatrixSelector):
            yield each.vector_selector, within


def labels_of(selector: promql.VectorSelector) -> set[str]:
    return {*metric_of(selector.name).labels, *OF_SCRAPES}


def test_every_expression_is_promql_about_labels_that_its_metrics_have():
    for text in asked():
        whole = promql.parse(text)
        found = list(selectors(whole))

        assert found, text
        for selector, _ in found:
            used = {matcher.name for matcher in selector.matchers.matchers}
            assert used <= labels_of(selector), text
        for node, _ in walk(whole):
            if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
                inside = set().union(*(labels_of(selector) for selector, _ in selectors(node)))
                assert set(node.modifier.labels) <= inside, text


def test_counters_are_asked_how_they_rise_and_gauges_how_they_stand():
    for text in asked():
        for selector, within in selectors(promql.parse(text)):
            kind = metric_of(selector.name).kind

            assert kind in (RISING if within in OVER_TIME else GAUGES), (selector.name, text)


def test_quantiles_are_taken_of_buckets_that_are_kept_apart():
    for text in asked():
        for node, _ in walk(promql.parse(text)):
            if isinstance(node, promql.Call) and node.func.name == "histogram_quantile":
                (summed,) = [part for part in node.args if isinstance(part, promql.AggregateExpr)]
                assert "le" in summed.modifier.labels, text
                assert all(each.name.endswith("_bucket") for each, _ in selectors(node)), text


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_rule_fires_by_a_comparison_and_not_by_being_there(rule):
    node = promql.parse(rule["expr"])

    compared = [
        part
        for part, _ in walk(node)
        if isinstance(part, promql.BinaryExpr) and str(part.op) in {">", "<", "==", ">=", "<="}
    ]
    is_absent = isinstance(node, promql.Call) and node.func.name == "absent"
    assert compared or is_absent
