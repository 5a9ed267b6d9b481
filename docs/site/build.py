"""Builds the site into build/docs: `make docs`.

The generator reads a folder that is made here from the pages of the repository. The navigation
is that of docs/README.md. Pages outside of docs/ that a page links to, such as ARCHITECTURE.md,
become pages of the site too; other files that are linked to are copied beside them.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONTENTS = DOCS / "README.md"
PYTHON = DOCS / "reference" / "python.md"
SETTINGS = DOCS / "site" / "mkdocs.yml"
STAGE = ROOT / "build" / "docs-source"
SITE = ROOT / "build" / "docs"
ELSEWHERE = "project"
"""The folder of the site for what is not in docs/."""
API = "reference/api"

_LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?(?=\))")
_ENTRY = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^(?P<level>#{2,3}) (?P<title>.+)$")
_MODULE = re.compile(r"^\| `(?P<name>holdfast[.\w]*)` \|", re.MULTILINE)
_FILE_FENCE = re.compile(r"^( *```)(\w+) (\w+\.py)$", re.MULTILINE)
_FENCE = re.compile(r"^( *```)(\w+) [\w-]+$", re.MULTILINE)


def navigation() -> list[Any]:
    """Return the sections of docs/README.md, with the pages of each."""
    section: list[Any] = []
    nav: list[Any] = [{"Start": section}]
    part, placed = section, {CONTENTS}
    for line in CONTENTS.read_text("utf-8").splitlines():
        if heading := _HEADING.match(line):
            part = []
            if heading["level"] == "##":
                section = part
                nav.append({heading["title"]: section})
            else:
                section.append({heading["title"]: part})
        for entry in _ENTRY.finditer(line):
            target = (DOCS / entry["target"].partition("#")[0]).resolve()
            if target.suffix != ".md" or target in placed:
                continue
            placed.add(target)
            part.append({_titled(entry["title"]): place_of(target)})
            if target == PYTHON:
                part.append({"Python, by module": [f"{API}/{name}.md" for name in modules()]})
    nav[0]["Start"].append({"All pages": place_of(CONTENTS)})
    return nav


def _titled(text: str) -> str:
    return text[:1].upper() + text[1:]


def place_of(path: Path) -> str:
    """Return where on the site a file of the repository is."""
    if path == CONTENTS:
        return "pages.md"
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"{ELSEWHERE}/{path.relative_to(ROOT).as_posix()}"


def sources() -> list[Path]:
    """Return the pages of docs/, and every file that one of the site's pages links to."""
    found = dict.fromkeys(sorted(DOCS.rglob("*.md")))
    waiting = list(found)
    while waiting:
        page = waiting.pop()
        for link in _LINK.finditer(page.read_text("utf-8")):
            target = (page.parent / link["target"]).resolve()
            if target.is_file() and target not in found:
                found[target] = None
                if target.suffix == ".md":
                    waiting.append(target)
    return list(found)


def staged(page: Path) -> str:
    """Return a page as the generator is given it.

    Its links lead to places of the site, and its fences say what the highlighter understands.
    """
    place = place_of(page)

    def to_the_site(link: re.Match[str]) -> str:
        target = (page.parent / link["target"]).resolve()
        if "://" in link["target"] or not target.is_file():
            return link[0]
        return relpath(place_of(target), dirname(place) or ".") + (link["anchor"] or "")

    text = _LINK.sub(to_the_site, page.read_text("utf-8"))
    text = _FILE_FENCE.sub(r'\1\2 title="\3"', text)
    # The theme would fetch what draws diagrams from elsewhere.
    return _FENCE.sub(r"\1\2", text).replace("```mermaid\n", "```text\n")


def modules() -> list[str]:
    """Return the public modules, as the page about Python lists them."""
    return _MODULE.findall(PYTHON.read_text("utf-8"))


def api_page(module: str) -> str:
    """Return the page about a public module: its names, from their docstrings."""
    names = "\n".join(f"::: {module}.{name}\n" for name in public_names(module))
    return f"# {module}\n\n{names}"


def public_names(module: str) -> list[str]:
    """Return what a module offers, without importing it."""
    base = ROOT / "src" / Path(*module.split("."))
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    statements = ast.parse(file.read_text("utf-8")).body
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
    return [each.name for each in statements if isinstance(each, ast.ClassDef)]


def stage() -> None:
    """Write the folder that the generator reads."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for path in sources():
        target = STAGE / place_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(staged(path), "utf-8")
        else:
            shutil.copyfile(path, target)
    for name in modules():
        target = STAGE / API / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(api_page(name), "utf-8")
    settings = {
        "INHERIT": str(SETTINGS),
        "docs_dir": str(STAGE),
        "site_dir": str(SITE),
        "nav": navigation(),
    }
    STAGE.with_suffix(".yml").write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")


def main() -> int:
    """Build the site; return the generator's exit code."""
    stage()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [*command, "--config-file", str(STAGE.with_suffix(".yml"))], env=environment, check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
