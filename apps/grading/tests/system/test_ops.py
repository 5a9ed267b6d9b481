"""The alert rules and the dashboard of grading: what they name exists and says what to do."""

import json
import re
from datetime import timedelta

import pytest
import yaml
from click.testing import CliRunner

from apps.grading.tests.sides import Main, made_main, progressed
from grading.main.operating.observing import figures, needs
from holdfast.cli.main import program
from holdfast.metrics import BY_NAME
from holdfast.testing import ManualClock
from tests.docs.markdown import ROOT


@pytest.fixture
def main(database_url: str, clock: ManualClock):
    with made_main(database_url, clock=clock) as made:
        yield made


def exported(what: str) -> str:
    answer = CliRunner().invoke(program, ["export", what, "--system", "grading"])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def rules() -> list[dict]:
    return [
        rule for group in yaml.safe_load(exported("alerts"))["groups"] for rule in group["rules"]
    ]


def values(main: Main) -> dict[str, float]:
    return {figure.name: figure.value for figure in figures(main.app)}


def sentences(main: Main) -> list[str]:
    return [need.sentence for need in needs(main.app)]


def test_rules_and_panels_name_figures_that_exist(main: Main):
    known = set(values(main)) | set(BY_NAME)
    panels = json.loads(exported("grafana"))["panels"]
    expressions = [rule["expr"] for rule in rules()]
    expressions += [target["expr"] for panel in panels for target in panel.get("targets", ())]

    named = {
        name
        for text in expressions
        for name in re.findall(r"\b(?:grading|holdfast|jobs)_\w+", re.sub(r'"[^"]*"', "", text))
    }

    assert named <= known
    assert set(values(main)) <= named, "every figure is on the dashboard or in a rule"


def test_every_rule_has_its_row_in_the_runbook():
    runbook = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    section = runbook.partition("## Gradings fail")[2].partition("\n## ")[0]

    for rule in rules():
        assert f"`{rule['alert']}`" in section
        assert rule["labels"]["severity"] in {"warning", "critical"}


def test_a_system_without_rules_of_its_own_says_so():
    answer = CliRunner().invoke(program, ["export", "alerts", "--system", "converter"])

    assert answer.exit_code != 0
    assert "converter brings neither alert rules nor a dashboard" in answer.output


def test_a_result_that_does_not_arrive_after_its_scores_is_told(main: Main, clock: ManualClock):
    request = main.requested()
    clock.advance(60)
    main.take(progressed(request, "scoring", 0.9))
    clock.advance(100)
    assert (values(main)["grading_callbacks_overdue"], sentences(main)) == (0, [])

    clock.advance(30)

    assert values(main)["grading_callbacks_overdue"] == 1
    assert sentences(main) == ["1 submission was scored, and the results do not arrive."]


def test_a_grader_that_nobody_sees_is_told_only_while_submissions_wait(
    main: Main, clock: ManualClock
):
    clock.advance(3_600)
    assert values(main)["grading_grader_silent_seconds"] == 0
    main.requested()
    clock.advance(timedelta(minutes=5).total_seconds())
    assert sentences(main) == []

    clock.advance(1)

    assert values(main)["grading_grader_silent_seconds"] == 301
    assert sentences(main) == ["Submissions wait, and no grader was seen."]
