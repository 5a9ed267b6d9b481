"""The Python on the pages: each page is one program, its blocks in order.

A line such as `print(x)  # → y` promises what is printed. A block that is a fragment says
`not-run` after its language; one that says `postgres` is a program of its own, on PostgreSQL.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, blocks, documents, name_of
from tests.docs.running import local_page, run

_PROMISE = re.compile(r"# → (?P<line>.+)$", re.MULTILINE)
TUTORIAL = ROOT / "docs" / "tutorial.md"
"""Run by a test of its own, command by command."""


def pages() -> list[str]:
    return [name_of(path) for path in documents() if path != TUTORIAL and program_of(path)]


def pages_with_postgres() -> list[str]:
    return [name_of(path) for path in documents() if postgres_programs_of(path)]


def program_of(path: Path) -> str:
    return "\n".join(block.text for block in blocks(path) if block.info == "python")


def postgres_programs_of(path: Path) -> list[str]:
    return [block.text for block in blocks(path) if block.info == "python postgres"]


def check(program: str, *, folder: Path, **variables: str) -> None:
    file = folder / "page.py"
    with local_page() as url:
        file.write_text(program.replace("https://example.org", url))
        done = run(file, folder=folder, **variables)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    printed = iter(done.stdout.splitlines())
    for promise in _PROMISE.finditer(program):
        promised = promise["line"].strip()
        assert any(line.strip() == promised for line in printed), (
            f"not printed, or not in this order: {promised}\n{done.stdout}\n{done.stderr}"
        )


@pytest.mark.parametrize("page", pages())
def test_the_python_on_a_page_runs_and_prints_what_it_says(page: str, tmp_path: Path):
    check(program_of(ROOT / page), folder=tmp_path)


@pytest.mark.parametrize("page", pages_with_postgres())
def test_the_python_for_postgresql_on_a_page_runs_there(
    page: str, tmp_path: Path, postgres_url: str
):
    for program in postgres_programs_of(ROOT / page):
        check(program, folder=tmp_path, DATABASE_URL=postgres_url)


def test_every_fence_is_one_that_is_known():
    known = {"python", "python not-run", "python postgres", "console", "console not-run"}
    known |= {"", "text", "ini", "toml", "json", "sql", "sql not-run", "mermaid", "yaml"}
    files = re.compile(r"python [a-z_]+\.py")

    strange = [
        f"{name_of(page)}, line {block.line - 1}: {block.info}"
        for page in documents()
        for block in blocks(page)
        if block.info not in known and not files.fullmatch(block.info)
    ]

    assert strange == []
