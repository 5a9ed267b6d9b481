"""What exists is documented: a new setting, command, state, error or policy needs its line."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import holdfast
from holdfast import (
    Breaker,
    Guard,
    Holdfast,
    JobContext,
    JobHandle,
    JobState,
    JobView,
    Retry,
    Upstream,
    presets,
)
from holdfast import errors as errors_module
from holdfast.classify import PublicCode, Rule, Verdict
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.config import settings
from holdfast.config import sources as setting_sources
from holdfast.core.job.decision import Kind
from holdfast.core.job.job import Job
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.failure import Category, ErrorClass, Failure
from holdfast.engine.upstreams import Upstreams
from holdfast.error_log import ErrorLog, ErrorRecord
from holdfast.policies import BreakerMode
from holdfast.store import contract
from holdfast.views.upstream import UpstreamView
from holdfast.workers import WorkerOptions
from tests.docs import cli_reference
from tests.docs.markdown import ROOT, blocks, documents, name_of

REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "holdfast"
DECISIONS = ROOT / "docs" / "decisions"
LONGEST_DECISION = 40


def named(page: Path) -> set[str]:
    """Return what a page names in backticks, also the names inside calls and lists."""
    quoted = re.findall(r"`([^`\n]+)`", page.read_text("utf-8"))
    return {*quoted, *(word for text in quoted for word in re.findall(r"[\w.-]+", text))}


def rows(page: Path) -> dict[str, list[str]]:
    """Return the rows of a page's tables by the first name in their first cell."""
    found: dict[str, list[str]] = {}
    for line in page.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        name = re.match(r"`([^`]+)`", cells[0])
        if line.startswith("| ") and name:
            found.setdefault(name[1], cells)
    return found


def presets_named() -> set[str]:
    """Return what the pages with presets name."""
    how_to = ROOT / "docs" / "how-to"
    return named(how_to / "retry-policies.md") | named(how_to / "breakers.md")


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_every_setting_is_documented_with_its_default():
    documented = rows(REFERENCE / "configuration.md")
    options = WorkerOptions()

    for name, value, _origin in settings.Settings().shown():
        assert name in documented, name
        if hasattr(options, name):
            assert documented[name][1].split(" ")[0] == f"{value:g}", name


def test_every_environment_variable_is_documented():
    page = named(REFERENCE / "configuration.md")
    further = {variable for variable, _unit in setting_sources.FURTHER_VARIABLES.values()}
    presets_page = presets_named()

    assert further | setting_sources.OTHER_VARIABLES <= page
    assert {
        presets.MAX_ATTEMPTS_VARIABLE,
        presets.BASE_DELAY_VARIABLE,
        presets.JITTER_VARIABLE,
        presets.WINDOW_VARIABLE,
        presets.THRESHOLD_VARIABLE,
        presets.COOLDOWN_VARIABLE,
    } <= presets_page


def test_the_help_of_every_command_is_in_the_reference():
    written = cli_reference.current(cli_reference.PAGE.read_text("utf-8"))

    assert written == cli_reference.rendered(), "run: python -m tests.docs.cli_reference"


def test_every_exit_code_is_documented():
    page = (REFERENCE / "cli.md").read_text("utf-8")

    missing = [code for code in ExitCode if f"\n| {code.value} | " not in page]
    assert missing == []


@pytest.mark.parametrize("page", ["reference/states.md", "reference/python.md", "glossary.md"])
def test_every_state_is_documented(page: str):
    text = (ROOT / "docs" / page).read_text("utf-8").lower()

    missing = [state.value for state in JobState if f"`{state.value}`" not in text]
    assert missing == []


@pytest.mark.parametrize("page", ["history.md", "logs.md"])
def test_every_kind_of_ledger_entry_is_documented(page: str):
    assert {kind.value for kind in Kind} <= named(REFERENCE / page)


def test_every_event_that_is_logged_is_documented():
    logged: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        logged |= set(re.findall(r'"event": "(\w+)"', file.read_text("utf-8")))

    assert len(logged) > 5
    assert logged <= named(REFERENCE / "logs.md")


def test_every_error_is_documented_with_its_attributes():
    documented = rows(REFERENCE / "errors.md")
    page = named(REFERENCE / "errors.md")
    errors = {
        name: kind
        for name, kind in vars(errors_module).items()
        if inspect.isclass(kind)
        and issubclass(kind, Exception)
        and kind.__module__ == errors_module.__name__
        and not name.startswith("_")
    }

    assert len(errors) > 15
    assert set(errors) <= page
    for name, kind in errors.items():
        if "__init__" not in vars(kind) or name in {"GiveUp", "RetryLater"}:
            continue
        attributes = set(re.findall(r"self\.(\w+)", inspect.getsource(kind.__init__)))
        told = set(re.findall(r"`(\w+)`", documented[name][-1]))
        assert attributes <= told, name


def test_every_error_class_is_documented():
    documented = rows(REFERENCE / "failures.md")

    assert {error_class.value for error_class in ErrorClass} <= set(documented)
    assert {category.value for category in Category} <= named(REFERENCE / "failures.md")


def test_every_table_of_a_library_is_documented():
    page = (REFERENCE / "failures.md").read_text("utf-8").lower()
    source = (SOURCE / "classify" / "libraries.py").read_text("utf-8")
    tables = set(re.findall(r"from holdfast\.classify\.(?:\w+\.)?(\w+) import", source)) - {"rule"}

    assert len(tables) > 10
    missing = [name for name in tables for word in name.split("_") if word not in page]
    assert missing == []


def test_every_fact_of_a_failure_is_documented():
    assert set(Failure._fields) <= named(REFERENCE / "failures.md")


def test_every_field_of_an_error_record_is_documented():
    documented = rows(REFERENCE / "error-log.md")

    assert {field.name for field in fields(ErrorRecord)} <= set(documented)
    assert public(ErrorLog) | {"root"} <= named(REFERENCE / "error-log.md")


def test_every_public_name_of_classification_is_documented():
    told = named(REFERENCE / "failures.md")

    assert {"Rule", "Verdict", "PublicCode", "PublicCodes"} <= told
    assert {"raise_if_refused", "refusal_of", "classify"} <= told
    assert {field.name for field in fields(PublicCode)} <= told
    assert {field.name for field in (*fields(Rule), *fields(Verdict))} <= told


def test_every_field_of_a_retry_policy_is_documented_with_its_default():
    documented = rows(REFERENCE / "retry.md")

    for field in fields(Retry):
        if field.init:
            told = documented[field.name][1].strip("`").strip('"')
            assert told == str(field.default), field.name


def test_every_preset_is_documented():
    page = presets_named()
    policies = {name for name, value in vars(presets).items() if isinstance(value, Retry | Breaker)}
    makers = {
        name
        for name, value in vars(presets).items()
        if inspect.isfunction(value)
        and value.__module__ == presets.__name__
        and not name.startswith("_")
    }

    assert policies >= {"FULL_JITTER", "ADDED_JITTER", "FIXED_SPREAD", "CAPPED"}
    assert policies | makers <= page


@pytest.mark.parametrize("kind", [Breaker, Upstream])
def test_every_field_of_a_breaker_and_an_upstream_is_documented_with_its_default(kind: type):
    text = (REFERENCE / "breaker.md").read_text("utf-8")
    heading = "## Upstream" if kind is Upstream else "## Fields"
    section = text.partition(heading)[2].partition("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\|", section, re.MULTILINE))

    assert set(documented) == {field.name for field in fields(kind)}
    for field in fields(kind):
        told = documented[field.name].strip("`")
        known = {MISSING: "", (): "none"}.get(field.default, str(field.default))
        assert told == known, field.name


def test_every_parameter_and_member_of_a_guard_is_documented():
    page = named(REFERENCE / "breaker.md")
    parameters = set(inspect.signature(Guard).parameters)

    assert parameters | public(Guard) <= page


def test_every_member_of_upstreams_is_documented():
    page = named(REFERENCE / "breaker.md")

    assert public(Upstreams) | public(UpstreamView) <= page
    assert {mode.value for mode in BreakerMode} <= named(ROOT / "docs" / "how-to" / "breakers.md")
    assert {gate.value for gate in Gate} <= page


def test_the_attempts_of_every_preset_are_those_documented():
    told = rows(ROOT / "docs" / "how-to" / "retry-policies.md")

    for name in ("FULL_JITTER", "ADDED_JITTER", "FIXED_SPREAD", "CAPPED"):
        assert told[name][1].split(" ")[0] == str(getattr(presets, name).attempts), name


def test_every_public_name_is_documented():
    assert set(holdfast.__all__) <= named(REFERENCE / "python.md")


@pytest.mark.parametrize("kind", [Holdfast, JobContext, JobHandle, JobView, contract.JobFilter])
def test_every_public_member_is_documented(kind: type):
    internal = {"store", "unopened_store", "pipelines", "announcer"}

    assert public(kind) - internal <= named(REFERENCE / "python.md")


def test_every_parameter_of_submit_is_documented():
    parameters = set(inspect.signature(Holdfast.submit).parameters) - {"self"}

    assert parameters <= named(REFERENCE / "python.md")


def test_every_column_of_a_job_is_documented():
    assert {*Job._fields, "fingerprint"} <= named(REFERENCE / "store.md")


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_invariant_is_documented_as_its_file_says(dialect: str):
    documented = rows(REFERENCE / "store.md")
    folder = SOURCE / "store" / dialect / "sql"
    files = sorted(folder.glob("verify_*.sql"))

    assert len(files) > 10
    for file in files:
        name = file.stem.removeprefix("verify_")
        promise = file.read_text("utf-8").splitlines()[0].partition(": ")[2]
        assert promise in documented[name][1]


def test_decisions_are_short_and_listed():
    index = (DECISIONS / "README.md").read_text("utf-8")
    records = sorted(DECISIONS.glob("[0-9]*.md"))

    assert len(records) >= 15
    for record in records:
        text = record.read_text("utf-8")
        assert len(text.splitlines()) <= LONGEST_DECISION, record.name
        assert f"({record.name})" in index, record.name
        for part in ("**Context.**", "**Choice.**", "**Cost.**", "**Reopen**"):
            assert part in text, f"{record.name} has no {part}"


def test_pages_speak_of_the_project_alone():
    other = re.compile(r"/tmp/|TODO|FIXME")

    assert [name_of(page) for page in documents() if other.search(page.read_text("utf-8"))] == []


def test_the_sql_on_the_pages_runs_on_postgresql(postgres_url: str):
    app = Holdfast(postgres_url)
    statements = [
        block.text for path in documents() for block in blocks(path) if block.info == "sql"
    ]

    assert statements
    with app.store.transaction() as connection:
        for statement in statements:
            connection.execute(statement)
    app.close()
