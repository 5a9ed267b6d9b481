"""Figures of systems, beside the engine's own."""

import logging

import pytest

from holdfast import Holdfast
from holdfast.errors import InvalidValue
from holdfast.metrics import Scope
from holdfast.systems import Figure


def orders(app: Holdfast) -> list[Figure]:
    return [
        Figure("shop_orders", "Orders that are open.", "gauge", len(app.jobs()), {"kind": "rope"}),
        Figure("shop_orders", "Orders that are open.", "gauge", 3, {"kind": "anchor"}),
        Figure("shop_paid_total", "What was paid.", "counter", 2.5),
    ]


def test_figures_are_shown_with_the_fleets_and_not_with_the_process(open_app, scrapes) -> None:
    app = open_app()
    app.add_figures(orders)

    seen = scrapes(app)

    for scope in (None, Scope.FLEET):
        found = seen.samples(scope)
        assert found["shop_orders"] == {("rope",): 0, ("anchor",): 3}
        assert found["shop_paid_total"] == {(): 2.5}
        assert "holdfast_store_up" in found
    assert "shop_orders" not in seen.samples(Scope.PROCESS)
    assert "# TYPE shop_orders gauge" in seen.text()
    assert "# HELP shop_orders Orders that are open." in seen.text()


def test_figures_are_not_read_more_often_than_every_few_seconds(open_app, scrapes) -> None:
    app, asked = open_app(), []

    def count(_: Holdfast) -> list[Figure]:
        asked.append(1)
        return [Figure("shop_asked", "Times.", "gauge", len(asked))]

    app.add_figures(count)
    seen = scrapes(app, fresh_s=1)

    assert seen.samples()["shop_asked"] == seen.samples()["shop_asked"] == {(): 1}


def test_a_system_that_fails_costs_its_own_activity_alone(open_app, scrapes, caplog) -> None:
    app = open_app()
    app.add_figures(lambda _: 1 / 0)
    app.add_figures(orders)
    app.add_figures(lambda _: [Figure("shop_orders", "Other.", "counter", 1)])
    with caplog.at_level(logging.ERROR, logger="holdfast.metrics"):
        found = scrapes(app).samples()

    assert found["shop_orders"] == {("rope",): 0, ("anchor",): 3}
    assert "cannot be read" in caplog.text
    assert "differ in kind or labels" in caplog.text


def test_secrets_are_not_shown_in_labels(open_app, scrapes) -> None:
    app = open_app()
    app.add_secrets(["correct-horse-battery"])
    app.add_figures(
        lambda _: [Figure("shop_x", "X.", "gauge", 1, {"who": "correct-horse-battery"})]
    )

    assert "correct-horse" not in scrapes(app).text()


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("name", ("holdfast_jobs", "x", "gauge", 1)),
        ("name", ("Not valid", "x", "gauge", 1)),
        ("kind", ("shop_x", "x", "histogram", 1)),
        ("labels", ("shop_x", "x", "gauge", 1, {"a-b": "c"})),
    ],
)
def test_a_figure_that_cannot_be_shown_is_refused(field, given) -> None:
    with pytest.raises(InvalidValue, match=field):
        Figure(*given)
