"""The site of the documentation: every page is in its navigation, and nothing is from elsewhere."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown import ROOT

DOCS = ROOT / "docs"
PROGRAM = DOCS / "site" / "build.py"
SITE = ROOT / "build" / "docs"
MAX_BUILD_S = 300
"""It takes ten seconds of a core; others may have the cores meanwhile."""


@pytest.fixture(scope="module")
def build() -> dict[str, Any]:
    """The names of the program that builds the site."""
    return runpy.run_path(str(PROGRAM))


def places(part: Any) -> Iterator[str]:
    """Yield the pages of a navigation."""
    if isinstance(part, str):
        yield part
    else:
        for each in part.values() if isinstance(part, dict) else part:
            yield from places(each)


def test_the_navigation_has_every_page_once(build: dict[str, Any]):
    named = list(places(build["navigation"]()))
    pages = {build["place_of"](page) for page in DOCS.rglob("*.md")}
    decisions = {page for page in pages if re.match(r"decisions/\d", page)}
    modules = {f"reference/api/{name}.md" for name in build["modules"]()}

    assert len(named) == len(set(named))
    assert pages - decisions - set(named) == set()
    assert set(named) - pages - modules == {"project/examples/README.md"}


def test_every_image_of_a_page_is_part_of_the_site(build: dict[str, Any]):
    sources = set(build["sources"]())
    image = re.compile(r"!\[[^\]]+\]\((?P<target>[^()\s]+)\)")
    shown = {
        (page.parent / found["target"]).resolve()
        for page in DOCS.rglob("*.md")
        for found in image.finditer(page.read_text("utf-8"))
    }

    assert shown
    assert shown <= sources
    assert all(file.stat().st_size < 200_000 for file in shown)


def test_every_public_module_has_a_page_with_its_names(build: dict[str, Any]):
    page = build["api_page"]("holdfast")

    assert "\n::: holdfast.Holdfast\n" in page
    assert all(build["public_names"](module) for module in build["modules"]())


@pytest.mark.slow
@pytest.mark.timeout(MAX_BUILD_S)
def test_the_site_is_built_without_a_warning_and_asks_nobody_else_for_anything():
    pytest.importorskip("mkdocs", reason="make docs installs what builds the site")

    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=MAX_BUILD_S,
        check=False,
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert requested_from_elsewhere(SITE) == []
    reference = (SITE / "reference" / "api" / "holdfast.html").read_text("utf-8")
    assert 'id="holdfast.Holdfast.submit"' in reference
    assert (SITE / "search" / "search_index.json").stat().st_size > 100_000


def requested_from_elsewhere(site: Path) -> list[str]:
    """Return what a browser would fetch from another host when it shows a page."""
    tag = re.compile(
        r"<(?:script|img|iframe|source|video)[^>]*?\ssrc=[\"']?(?:https?:)?//[^\"'\s>]+"
        r"|<link(?=[^>]*\srel=[\"']?(?:stylesheet|preconnect|preload|icon))[^>]*?"
        r"\shref=[\"']?(?:https?:)?//[^\"'\s>]+"
        r"|class=[\"'][^\"']*\bmermaid\b"  # the theme fetches what draws these
    )
    style = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\"')\s]+")
    return [
        f"{file.relative_to(site)}: {found}"
        for kind, pattern in (("*.html", tag), ("*.css", style))
        for file in site.rglob(kind)
        for found in pattern.findall(file.read_text("utf-8"))
    ]
