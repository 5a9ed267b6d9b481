"""Where a value ends that follows a name in running text.

A value is never cut short: where its end is in doubt, the later end is taken.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from holdfast.redaction.marker import MARKER, Inspection


class Extent(NamedTuple):
    """Where a value stands, without its quotes."""

    start: int
    end: int
    is_quoted: bool
    is_container: bool = False


_OPENING_QUOTE: Final = re.compile(
    r"[bBrRuUfF]{0,2}(?P<escapes>\\{0,15})(?P<quote>\"{3}|'{3}|[\"'`])"
)
_UP_TO_QUOTE: Final = {
    quote: re.compile(rf"[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+", re.DOTALL) for quote in "\"'`"
}
_BRACKET_OR_STRING: Final = re.compile(
    r"""
      "[^"\\]*+(?:\\.[^"\\]*+)*+"
    | '[^'\\]*+(?:\\.[^'\\]*+)*+'
    | \\{1,15}"[^"]*+"
    | (?P<opening>[\[({])
    | (?P<closing>[\])}])
    """,
    re.VERBOSE | re.DOTALL,
)

# Up to white space, or up to a mark that ends a value rather than being part of it: a quote or a
# bracket before another mark, a separator before white space or the next name.
_WORD: Final = re.compile(
    r"""(?:
        \[(?:redacted:[a-z\-]{1,24}(?::[0-9a-f]{4})?|(?:email|phone|code):[0-9a-f]{4})\]
      | \$\{[^{}\s]{1,64}\}
      | [^\s"'`&;,)\]}\\]
      | ["'`](?![\s,;:.)\]}>&\\]|$)
      | [&;,](?!\s|$|\\|["'`]|[\w.%\[\]\-]{1,64}=)
      | [)\]}](?!\s|$|[,;.:)\]}>"'`\\])
      | \\(?!\\{0,14}["'`]|\\{0,14}[nrt](?:\s|$|\\|["'`]|[\w.\-]{1,64}[=:]))
    )++""",
    re.VERBOSE,
)
_LINE: Final = re.compile(r"[^\r\n]++")
_BLOCK: Final = re.compile(r"[|>][+\-0-9]{0,2}[ \t]{0,8}(?:\r?\n[ \t]{0,64}){1,16}+(?=\S)")
# The same, and its end, where line breaks are written as escapes.
_ESCAPED_BLOCK: Final = re.compile(
    r"[|>][+\-0-9]{0,2}[ \t]{0,8}(?:\\{1,15}[nr][ \t]{0,64}){1,16}+(?=\S)"
)
_ESCAPED_LINES: Final = re.compile(r"(?:[^\\\"'`\r\n]|\\(?!\\{0,14}(?:[nr]\S|[\"'`])))++")
_FAR: Final = 2_048
_INDENT: Final = re.compile(r"[ \t]{0,256}")
_NEXT_PAIR: Final = re.compile(r"[\"']?[\w.\-]{1,64}[\"']?[ \t]{0,8}[:=]")


def value_at(text: str, start: int, inspection: Inspection, *, whole_line: bool) -> Extent | None:
    """Return the value that begins at `start`; None when there is none."""
    if start >= len(text):
        return None
    quote = _OPENING_QUOTE.match(text, start)
    if quote is not None:
        return _quoted(text, quote, inspection)
    if text[start] in "[{(" and not MARKER.match(text, start):
        return _bracketed(text, start, inspection)
    block = _BLOCK.match(text, start)
    if block is not None:
        return Extent(block.end(), _end_of_block(text, block.end(), inspection), is_quoted=False)
    block = _ESCAPED_BLOCK.match(text, start)
    if block is not None:
        lines = _ESCAPED_LINES.match(text, block.end())
        return Extent(block.end(), lines.end(), is_quoted=False) if lines else None
    found = (_LINE if whole_line else _WORD).match(text, start)
    if found is None:
        return None
    return Extent(start, start + len(found.group().rstrip()), is_quoted=False)


def value_below(text: str, start: int, inspection: Inspection) -> Extent | None:
    """Return the value on the line or lines below its name; None when those are something else."""
    if text.startswith("- ", start):
        return Extent(start, _end_of_block(text, start, inspection), is_quoted=False)
    if _NEXT_PAIR.match(text, start):
        return None
    return value_at(text, start, inspection, whole_line=False)


def _quoted(text: str, opening: re.Match[str], inspection: Inspection) -> Extent:
    start, quote, escapes = opening.end(), opening["quote"], len(opening["escapes"])
    if not escapes and len(quote) == 1:
        found = _UP_TO_QUOTE[quote].match(text, start)
        end = found.end() if found and found.end() < len(text) else -1
    else:
        end = _closing_quote(text, start, quote, escapes, inspection)
    if end < 0:
        line = _LINE.match(text, start)
        end = line.end() if line else start
    return Extent(start, end, is_quoted=True)


def _closing_quote(text: str, start: int, quote: str, escapes: int, inspection: Inspection) -> int:
    """Where the closing quote with as many backslashes as the opening one begins, or -1.

    At every level of nesting a backslash of the content is written as twice as many, so the
    closing quote is the one whose backslashes are left over.
    """
    position = start
    while (position := text.find(quote, position)) >= 0:
        inspection.step()
        window = text[max(start, position - 64) : position]
        backslashes = len(window) - len(window.rstrip("\\"))
        if backslashes % (2 * (escapes + 1)) == escapes:
            return position - escapes
        position += len(quote)
    return -1


def _bracketed(text: str, start: int, inspection: Inspection) -> Extent:
    depth = 0
    for found in _BRACKET_OR_STRING.finditer(text, start):
        inspection.step()
        if found["opening"]:
            depth += 1
        elif found["closing"]:
            depth -= 1
            if not depth:
                return Extent(start, found.end(), is_quoted=False, is_container=True)
    return Extent(start, len(text), is_quoted=False, is_container=True)


def _end_of_block(text: str, start: int, inspection: Inspection) -> int:
    """Return the end of the last line that is indented as much as the one in which `start` lies."""
    indent = start - 1 - text.rfind("\n", max(0, start - _FAR), start)
    end = _line_end(text, start)
    while end < len(text):
        inspection.step()
        line = end + 1
        found = _INDENT.match(text, line)
        indented = found.end() - line if found else 0
        following = _line_end(text, line)
        if indented < indent and text[line:following].strip():
            break
        end = following
    return start + len(text[start:end].rstrip())


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
