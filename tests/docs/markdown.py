"""Reads the project's Markdown: its files, code blocks, headings and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NOT_RUN = "not-run"
"""A word after the language of a fence that says the block is a fragment."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)$")
_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *#*$")


class Block(NamedTuple):
    """A fenced block: what follows the fence, its text and the line it begins on."""

    info: str
    text: str
    line: int

    @property
    def language(self) -> str:
        return self.info.split(" ")[0]

    @property
    def runs(self) -> bool:
        return self.language == "python" and NOT_RUN not in self.info.split(" ")


def documents() -> list[Path]:
    """Return every Markdown file that users read."""
    return sorted(
        [
            *ROOT.glob("*.md"),
            *(ROOT / "docs").rglob("*.md"),
            ROOT / "bench/README.md",
            ROOT / "examples/README.md",
        ]
    )


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a file in order."""
    info: str | None = None
    lines: list[str] = []
    begins = 0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and info is None:
            info, lines, begins = fence["info"].strip(), [], number + 1
        elif fence and info is not None:
            yield Block(info, "\n".join(lines) + "\n", begins)
            info = None
        elif info is not None:
            lines.append(line)
    assert info is None, f"{path} ends inside a code block"


def prose(path: Path) -> str:
    """Return the text without its code blocks."""
    kept: list[str] = []
    inside = False
    for line in path.read_text("utf-8").splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def links(path: Path) -> list[str]:
    """Return the targets of a file's links."""
    return [match["target"] for match in _LINK.finditer(prose(path))]


def anchors(path: Path) -> set[str]:
    """Return what links into a file may name, as GitHub makes it from headings."""
    titles = [match["title"] for match in map(_HEADING.match, prose(path).splitlines()) if match]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
