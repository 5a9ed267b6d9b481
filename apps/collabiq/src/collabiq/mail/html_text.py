"""HTML to text, in one pass over it, whatever it is."""

from __future__ import annotations

import html
import re
from typing import Final

_RAW: Final = frozenset({"script", "style", "title", "textarea", "xmp", "noframes"})
"""What is in them is no markup, and nobody reads it in a mail."""
_UNSEEN: Final = frozenset({"head", "template", "noscript", "svg", "object", "select", *_RAW})
_VOID: Final = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"),
        *("param", "source", "track", "wbr"),
    }
)
_SPACED: Final = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "blockquote"}
)
_BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "body", "center", "dd", "div", "dl", "dt", "fieldset"),
        *("figure", "footer", "form", "header", "hr", "li", "main", "nav", "pre", "section"),
        *("tbody", "tfoot", "thead", "tr"),
        *_SPACED,
    }
)
_CELLS: Final = frozenset({"td", "th"})
_CELL: Final = "\x1e"
_HIDING: Final = re.compile(
    r"display:none|visibility:hidden|mso-hide:all|opacity:0(?:\.0+)?(?![\d.])"
    r"|font-size:0(?:px|pt|em|%)?(?![\d.])|max-height:0(?:px)?(?![\d.])"
)
_NAME: Final = re.compile(r"/?([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_STYLE: Final = re.compile(r"""\sstyle\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_HIDDEN: Final = re.compile(r"\shidden(?=[\s=/]|$)", re.IGNORECASE)
_QUOTED: Final = re.compile(r""""[^"]*"|'[^']*'""")
_SPACES: Final = re.compile(r"[ \t\r\n\f]+")
MAX_TAGS: Final = 100_000
"""More than any mail has that a person wrote."""
_MAX_STYLE: Final = 4_000
_MAX_QUOTE_DEPTH: Final = 9


def text_of_html(markup: str, *, limits_met: set[str] | None = None) -> str:
    """Return what a reader sees: no scripts, styles and hidden parts; a row of a table is a line.

    Quoted blocks begin with `>`, as they do in plain mails. What follows `MAX_TAGS` tags is left
    out, and `markup` added to `limits_met`.
    """
    writer = _Writer()
    complete = _Reader(markup, writer).run()
    if not complete and limits_met is not None:
        limits_met.add("markup")
    return writer.text()


class _Writer:
    """Collects lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self.quote_depth = 0
        self.preformatted = 0

    def say(self, text: str) -> None:
        if not self.preformatted:
            self._line.append(_SPACES.sub(" ", text))
            return
        first, *rest = text.split("\n")
        self._line.append(first)
        for line in rest:
            self.end_line()
            self._line.append(line)

    def end_line(self, *, always: bool = True) -> None:
        """End the line; one that is empty only when `always`."""
        said = "".join(self._line)
        self._line.clear()
        if _CELL in said:
            said = " | ".join(cell.strip() for cell in said.split(_CELL) if cell.strip())
        elif not self.preformatted:
            said = said.strip(" ")
        if said or always:
            depth = min(self.quote_depth, _MAX_QUOTE_DEPTH)
            self._lines.append(f"{'>' * depth} {said}".rstrip() if depth else said)

    def gap(self) -> None:
        """See to an empty line."""
        self.end_line(always=False)
        if self._lines and self._lines[-1].strip("> "):
            self.end_line()

    def text(self) -> str:
        self.end_line(always=False)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines).replace("\xa0", " ")).strip("\n")


class _Reader:
    """Goes through the markup once; every step moves on."""

    def __init__(self, markup: str, writer: _Writer) -> None:
        self._markup, self._writer = markup, writer
        self._lowered: str | None = None
        self._unseen: str | None = None
        """The element that hides what follows, and how many of its name are open in it."""
        self._nested = 0

    def run(self) -> bool:
        """Read it, and return whether that was all of it."""
        markup, at, length = self._markup, 0, len(self._markup)
        left = MAX_TAGS
        while at < length:
            opened = markup.find("<", at)
            if opened < 0:
                self._say(markup[at:])
                return True
            if left == 0:
                return False
            left -= 1
            self._say(markup[at:opened])
            if markup.startswith("<!--", opened):
                at = self._behind("-->", opened + 4)
            elif markup.startswith(("<!", "<?"), opened):
                at = self._behind(">", opened + 2)
            elif (name := _NAME.match(markup, opened + 1)) is None:
                self._say("<")
                at = opened + 1
            else:
                at = self._tag(opened, name)
        return True

    def _behind(self, mark: str, start: int) -> int:
        """Return where what ends with a mark is over; without one nothing follows."""
        found = self._markup.find(mark, start)
        return len(self._markup) if found < 0 else found + len(mark)

    def _tag(self, opened: int, name: re.Match[str]) -> int:
        end = self._tag_end(name.end())
        if end < 0:  # nothing that follows is a tag
            self._say(self._markup[opened:])
            return len(self._markup)
        element = name[1].lower()
        inside = self._markup[name.end() : end]
        if name[0].startswith("/"):
            self._close(element)
        elif element in _RAW and not inside.endswith("/"):
            return self._behind_raw(element, end + 1)
        else:
            self._open(element, inside)
        return max(end + 1, opened + 1)

    def _tag_end(self, start: int) -> int:
        """Return where the tag ends; a `>` within quotes does not end it, three times."""
        end = self._markup.find(">", start)
        for _ in range(3):
            if end < 0:
                break
            left_open = _QUOTED.sub("", self._markup[start:end])
            mark = next((mark for mark in "\"'" if f"={mark}" in left_open), None)
            if mark is None:
                break
            closed = self._markup.find(mark, end)
            if closed < 0:
                break
            end = self._markup.find(">", closed)
        return end

    def _behind_raw(self, element: str, start: int) -> int:
        if self._lowered is None:
            self._lowered = self._markup.lower()
        # Lowering may change lengths; then what is raw is found by its spelling as it stands.
        text = self._lowered if len(self._lowered) == len(self._markup) else self._markup
        found = text.find(f"</{element}", start)
        return len(self._markup) if found < 0 else self._behind(">", found)

    def _open(self, element: str, inside: str) -> None:
        if self._unseen is not None:
            self._nested += element == self._unseen and not inside.endswith("/")
            return
        if element not in _VOID and (element in _UNSEEN or _is_hidden(inside)):
            if not inside.endswith("/"):
                self._unseen, self._nested = element, 1
            return
        writer = self._writer
        if element == "br":
            writer.end_line()
        elif element in _CELLS:
            writer.say(_CELL)
        elif element in _BLOCKS:
            writer.gap() if element in _SPACED else writer.end_line(always=False)
            if element == "li":
                writer.say("- ")
            writer.quote_depth += element == "blockquote"
            writer.preformatted += element == "pre"

    def _close(self, element: str) -> None:
        writer = self._writer
        if self._unseen is not None:
            self._nested -= element == self._unseen
            if self._nested == 0:
                self._unseen = None
            return
        if element in _BLOCKS:
            writer.end_line(always=False)
            if element == "blockquote":
                writer.quote_depth = max(0, writer.quote_depth - 1)
            elif element == "pre":
                writer.preformatted = max(0, writer.preformatted - 1)
            if element in _SPACED:
                writer.gap()

    def _say(self, text: str) -> None:
        if text and self._unseen is None:
            self._writer.say(_unescaped(text))


def _is_hidden(inside: str) -> bool:
    lowered = inside.lower()
    if len(inside) > _MAX_STYLE or ("hidden" not in lowered and "style" not in lowered):
        return False
    if _HIDDEN.search(_QUOTED.sub('""', inside)):
        return True
    style = _STYLE.search(inside)
    return style is not None and bool(_HIDING.search(re.sub(r"\s+", "", style[1].lower())))


def _unescaped(text: str) -> str:
    if "&" not in text:
        return text
    try:
        return html.unescape(text)
    except (ValueError, OverflowError):  # a number that nobody counts to
        return text
