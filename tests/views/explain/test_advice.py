"""Whose move a failure is."""

import re
from pathlib import Path

import pytest

from holdfast.alerts.alert import RUNBOOK
from holdfast.console import runbook
from holdfast.core.dead_letter.dead_letter import Cause
from holdfast.core.values.failure import Category, ErrorClass
from holdfast.views.explain.advice import BY_CLASS, MOVERS, Mover, advice_on

HEADINGS = {
    runbook.anchor(heading)
    for heading in re.findall(
        r"^#+ (.+)$", Path("docs/runbook.md").read_text("utf-8"), re.MULTILINE
    )
}


def on(error_class: str, category: Category = Category.PERMANENT, status: int | None = None):
    return advice_on(error_class, category=category, http_status=status)


def test_every_class_of_ours_has_its_advice():
    assert set(BY_CLASS) == set(ErrorClass)


@pytest.mark.parametrize(
    ("error_class", "mover", "cause"),
    [
        ("AUTH_DENIED", Mover.OPERATOR, Cause.AUTH_CONFIG),
        ("BUG", Mover.DEVELOPER, Cause.CODE_DEFECT),
        ("UPSTREAM_5XX", Mover.UPSTREAM, Cause.TRANSIENT),
        ("PAYLOAD_INVALID", Mover.SUBMITTER, Cause.DATA),
        ("WORKER_LOST", Mover.OPERATOR, None),
        ("NOT_FOUND", Mover.OPEN, None),
    ],
)
def test_the_suggested_cause_follows_the_class(error_class, mover, cause):
    advice = on(error_class, Category.CRITICAL)

    assert (advice.mover, advice.cause) == (mover, cause)


@pytest.mark.parametrize(
    ("category", "status", "cause"),
    [
        (Category.PERMANENT, None, None),
        (Category.CRITICAL, None, None),
        (Category.PERMANENT, 403, Cause.AUTH_CONFIG),
        (Category.PERMANENT, 502, Cause.TRANSIENT),
        (Category.TRANSIENT, None, Cause.TRANSIENT),
    ],
)
def test_a_class_of_somebody_else_is_left_open_unless_more_is_known(category, status, cause):
    assert on("PRINTER_JAMMED", category, status).cause == cause


@pytest.mark.parametrize("error_class", [*ErrorClass, "PRINTER_JAMMED"])
def test_the_runbook_has_the_section_that_is_named(error_class):
    advice = on(error_class)

    assert advice.section in HEADINGS
    assert advice.runbook == f"docs/runbook.md#{advice.section}"
    assert advice.mover in MOVERS


@pytest.mark.parametrize("section", sorted(set(RUNBOOK.values())))
def test_alerts_name_sections_that_are_there(section):
    assert section in HEADINGS


def test_the_runbook_can_be_read_as_a_page():
    page = runbook.page()

    assert set(re.findall(r'<h\d id="([^"]+)"', page)) == HEADINGS
    assert "<table>" in page
    assert "`" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_nothing_in_it_is_taken_for_markup():
    assert runbook.rendered("a <b> & `<i>`") == "<p>a &lt;b&gt; &amp; <code>&lt;i&gt;</code></p>"
