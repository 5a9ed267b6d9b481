"""Sentences on the pages that were not so once, held to the code."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from holdfast import Retry
from holdfast.config.settings import Settings
from tests.docs.markdown import ROOT, documents, name_of

README = ROOT / "README.md"
GATEWAY_PORT = 8091
NOT_FOR_USERS = {"dev", "docs", "upstreams"}
"""Extras for those who work on holdfast itself."""

PAGES = [*documents(), *sorted(ROOT.glob("apps/*/README.md"))]


def test_a_later_wait_may_be_shorter_and_only_its_limit_doubles():
    text = README.read_text("utf-8")
    retry = Retry(attempts=5, base=1, cap=60)

    def waits_s(failures: int, roll: float) -> float:
        return retry.delay_us(failures=failures, roll=roll, retry_after_us=None) / 1_000_000

    assert "Retry(attempts=5, base=1, cap=60)" in text
    assert "drawn by chance whose limit doubles with each failure" in text
    assert [round(waits_s(failures, 0.999_999)) for failures in (1, 2, 3)] == [1, 2, 4]
    assert waits_s(3, 0.1) < waits_s(2, 0.9)


def test_pages_name_ports_at_which_something_listens():
    named = re.compile(r"(?:localhost|127\.0\.0\.1):(\d+)")
    unreachable = "1"  # where a page shows a refused connection
    known = {str(Settings().port), str(GATEWAY_PORT), unreachable}

    strange = {name_of(page): set(named.findall(page.read_text("utf-8"))) - known for page in PAGES}

    assert {page: ports for page, ports in strange.items() if ports} == {}


@pytest.mark.parametrize("file", ["demo.py", "demo_screen.py", "demo_pipeline.py"])
def test_the_demo_does_not_say_that_make_run_starts_it(file: str):
    makefile = (ROOT / "Makefile").read_text("utf-8")

    assert "demo.py" not in makefile
    assert "make run" not in (ROOT / "examples" / file).read_text("utf-8")


def test_the_page_on_sizing_has_the_figures_of_the_last_benchmark():
    page = (ROOT / "docs" / "how-to" / "sizing.md").read_text("utf-8")
    measured = json.loads((ROOT / "bench" / "latest.json").read_text("utf-8"))
    told = {
        "drain-one-stage": "jobs of one stage",
        "drain-three-stage": "jobs of three stages, each result stored",
        "submit-bulk": "submissions, a thousand in a call",
        "submit-single": "submissions, one by one on one connection",
    }

    assert measured["machine"]["date"] in page
    assert measured["machine"]["cores"] == 2
    for row in measured["rows"]:
        if row["system"] == "holdfast" and row["workload"] in told:
            each = [f"{round(figure, -2):,.0f}" for figure in _by_core(row["per_second"])]
            assert f"| {told[row['workload']]} | {' | '.join(each)} |" in page


def test_the_comparison_has_the_figures_of_the_last_benchmark():
    page = (ROOT / "docs" / "explanation" / "comparison.md").read_text("utf-8")
    measured = json.loads((ROOT / "bench" / "latest.json").read_text("utf-8"))
    settings = {
        "drain-one-stage PgQueuer": ", batches of 500",
        "drain-one-stage PgQueuer (published)": ", as its own benchmark is published",
    }

    expected = [measured["machine"]["date"]]
    for row in measured["rows"]:
        setting = settings.get(f"{row['workload']} {row['system']}", "")
        system = f"{row['system'].removesuffix(' (published)')} {row['version']}{setting}"
        match row["workload"]:
            case "drain-one-stage" | "drain-three-stage" | "submit-single" | "submit-bulk":
                figures = (_rounded(row["per_second"], 3), _rounded(row["ratio"], 2))
            case "latency":
                figures = (_rounded(row["milliseconds"], 3), _rounded(row["milliseconds_p99"], 3))
            case _:
                continue
        expected.append(f"| {system} | {' | '.join(figures)} |")
    calls = [
        _rounded(row["microseconds"], 3)
        for row in sorted(measured["rows"], key=lambda row: str(row["system"]))
        if row["workload"] in {"guard-call", "guard-await"}
    ]
    expected += [
        f"| {plain} | {awaited} |" for plain, awaited in zip(*[iter(calls)] * 2, strict=True)
    ]
    expected += [
        f" {_rounded(row['per_second'], 3)} "
        for row in measured["rows"]
        if row["workload"] in {"drain-sqlite", "drain-celery"}
    ]

    assert [line for line in expected if line not in page] == []


def _rounded(figure: float, digits: int) -> str:
    return f"{float(f'{figure:.{digits}g}'):,.10g}"


def _by_core(per_second: float) -> tuple[float, float]:
    return per_second, per_second / 2


def test_the_readme_names_every_extra_for_users():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    install = README.read_text("utf-8").partition("## Install")[2].partition("\n## ")[0]

    rows = "\n".join(line for line in install.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`([\w-]+)`", rows.replace("`holdfast up`", "")))
    assert set(project["optional-dependencies"]) - NOT_FOR_USERS <= named
