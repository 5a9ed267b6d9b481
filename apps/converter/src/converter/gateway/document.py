"""What every engine makes of a PDF: pages with fragments of text, in the order it found them.

Lengths are points, a 72nd of an inch, from the top left corner of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from converter.gateway.errors import Reason, Refused

LONGEST_SIDE_PT: Final = 100_000.0
_SUBSET: Final = re.compile(r"^[A-Z]{6}\+")
_BOLD: Final = re.compile(r"bold|black|heavy", re.IGNORECASE)
_ITALIC: Final = re.compile(r"italic|oblique", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Font:
    """A typeface by the name the file gives it, at a size."""

    name: str
    size: float

    @property
    def family(self) -> str:
        """The name without the mark of a subset."""
        return _SUBSET.sub("", self.name)

    @property
    def bold(self) -> bool:
        """Return whether the name says that it is bold."""
        return _BOLD.search(self.name) is not None

    @property
    def italic(self) -> bool:
        """Return whether the name says that it is italic."""
        return _ITALIC.search(self.name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """Text in one font at one place."""

    left: float
    top: float
    width: float
    height: float
    font: Font
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page; making one of an impossible size raises `Refused`."""

    number: int
    width: float
    height: float
    fragments: tuple[Fragment, ...]

    def __post_init__(self) -> None:
        check_size(self.width, self.height)

    @property
    def has_text(self) -> bool:
        """Return whether there is more than blanks on it: a scanned page has a picture alone."""
        return any(not fragment.text.isspace() for fragment in self.fragments if fragment.text)

    @property
    def remark(self) -> dict[str, str]:
        """The attribute by which the XML of a page without text says so."""
        return {} if self.has_text else {"text": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """All pages, and the engine that read them."""

    engine: str
    version: str
    pages: tuple[Page, ...]


def check_size(width: float, height: float) -> None:
    """Raise `Refused` for a page that cannot be; no page is that large, and laying it out costs."""
    for side in (width, height):
        if not 0 < side <= LONGEST_SIDE_PT:
            raise Refused(Reason.PAGE_SIZE)
