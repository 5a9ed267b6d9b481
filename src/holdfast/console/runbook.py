"""The runbook as a page, so that what to do can be read where it is needed, without a network.

It is written in a small part of Markdown: headings, paragraphs, lists, tables, code, and links of
which only those to its own headings lead anywhere here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from markupsafe import Markup, escape

_INLINE: Final = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|\*(?P<soft>[^*\s][^*]*)\*"
    r"|\[(?P<text>[^\]]+)\]\((?P<href>[^)]+)\)"
)
_RULE: Final = re.compile(r"[|\s:-]+")


@cache
def page() -> Markup:
    """Return the runbook as HTML."""
    # In the sources a link to docs/runbook.md, in an installed package the file itself.
    return rendered(files("holdfast.console").joinpath("runbook.md").read_text("utf-8"))


def rendered(text: str) -> Markup:
    """Return Markdown as HTML; whatever it holds, nothing but text and these elements."""
    return Markup("\n").join(_blocks(text))


def anchor(heading: str) -> str:
    """Return the name by which links lead to a heading."""
    kept = re.sub(r"[^\w\s-]", "", heading.lower())
    return re.sub(r"\s+", "-", kept.strip())


def _blocks(text: str) -> Iterator[Markup]:
    fence: list[str] | None = None
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            yield from _block(block)
            block = []
            if fence is not None:
                yield Markup('<pre tabindex="0">{}</pre>').format("\n".join(fence))
            fence = None if fence is not None else []
        elif fence is not None:
            fence.append(line)
        elif not line.strip() or line.startswith("#"):
            yield from _block(block)
            block = []
            if line.startswith("#"):
                yield _heading(line)
        else:
            block.append(line)


def _heading(line: str) -> Markup:
    level = min(len(line) - len(line.lstrip("#")), 4)
    words = line.lstrip("#").strip()
    made = Markup('<h{} id="{}">{}</h{}>')
    return made.format(level, anchor(words), _inline(words), level)


def _block(lines: list[str]) -> Iterator[Markup]:
    if not lines:
        return
    if lines[0].startswith("|"):
        yield _table(lines)
    elif re.match(r"(?:-|\d+\.) ", lines[0]):
        yield _list(lines)
    else:
        yield Markup("<p>{}</p>").format(_inline(" ".join(lines)))


def _list(lines: list[str]) -> Markup:
    items: list[str] = []
    for line in lines:
        found = re.match(r"(?:-|\d+\.) (.*)", line)
        if found:
            items.append(found[1])
        else:
            items[-1] += f" {line.strip()}"
    kind = "ol" if lines[0][0].isdigit() else "ul"
    inner = Markup("").join(Markup("<li>{}</li>").format(_inline(item)) for item in items)
    return Markup("<{}>{}</{}>").format(kind, inner, kind)


def _table(lines: list[str]) -> Markup:
    rows = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    head, *body = rows
    titles = Markup("").join(Markup("<th>{}</th>").format(_inline(cell)) for cell in head)
    lined = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(_inline(cell)) for cell in row)
        )
        for row in body
    )
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(
        titles, lined
    )


def _cells(line: str) -> list[str]:
    # A bar inside code is part of the cell.
    parts = re.split(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)", line.strip().strip("|"))
    return [part.strip() for part in parts]


def _inline(text: str) -> Markup:
    made: list[Markup] = []
    end = 0
    for found in _INLINE.finditer(text):
        made.append(escape(text[end : found.start()]))
        made.append(_piece(found))
        end = found.end()
    return Markup("").join([*made, escape(text[end:])])


def _piece(found: re.Match[str]) -> Markup:
    if found["code"] is not None:
        return Markup("<code>{}</code>").format(found["code"])
    if found["bold"] is not None:
        return Markup("<strong>{}</strong>").format(_inline(found["bold"]))
    if found["soft"] is not None:
        return Markup("<em>{}</em>").format(_inline(found["soft"]))
    text, href = _inline(found["text"]), found["href"]
    if href.startswith("#"):
        return Markup('<a href="{}">{}</a>').format(href, text)
    return Markup('<span title="docs/{}">{}</span>').format(href, text)
