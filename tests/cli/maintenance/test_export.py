"""`holdfast export`: files for other programs, on stdout and nothing else."""

import json

import yaml

from tests.cli.conftest import Command


def test_the_dashboard_is_json(holdfast: Command):
    result = holdfast("export", "grafana")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "holdfast"


def test_the_rules_lead_to_the_runbook_that_is_named(holdfast: Command):
    result = holdfast("export", "alerts", "--runbook-url", "https://wiki.example.org/jobs")

    rules = yaml.safe_load(result.stdout)["groups"][0]["rules"]
    assert result.exit_code == 0
    assert all(
        rule["annotations"]["runbook_url"].startswith("https://wiki.example.org/jobs#")
        for rule in rules
    )


def test_the_description_of_the_api_needs_no_database(holdfast: Command):
    result = holdfast("export", "openapi")

    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document["openapi"].startswith("3.1")
    assert "/api/jobs" in document["paths"]
    assert "/metrics" in document["paths"]


def test_with_json_each_is_one_object_on_one_line(holdfast: Command):
    for what in ("grafana", "alerts", "openapi"):
        result = holdfast("export", what, "--json")

        assert isinstance(json.loads(result.stdout), dict)
