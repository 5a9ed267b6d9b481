"""What is stored with a conversion's job, and what it returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_FILENAME: Final = 200
FILENAME: Final = "document.pdf"
_UNPRINTABLE: Final = re.compile(r"[^\w\-. ()\[\]+,;=@#&'!]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A PDF that was sent: where it is kept, and what it is to become.

    `refused` is the public code for a file that was not taken, in jobs of the plan that had a stage
    to say so.
    """

    source: str
    filename: str
    mapping: str
    size: int
    sha256: str
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The XML that a conversion made: where it is kept, and how much of it there is."""

    result: str
    size: int


def plain_filename(given: str) -> str:
    """Return what a user called a file, fit to be shown and to be saved under.

    Of a path only the end is kept. It is never part of a path here.
    """
    name = given.replace("\\", "/").rsplit("/", 1)[-1]
    name = _UNPRINTABLE.sub("_", name).strip(" .")
    stem, dot, kind = name.rpartition(".")
    if not dot or not stem:
        return name[:MAX_FILENAME] or FILENAME
    return f"{stem[: MAX_FILENAME - len(kind) - 1]}.{kind}"


def xml_filename(filename: str) -> str:
    """Return what the XML of a file is saved as: its name, with the other ending."""
    stem, dot, kind = filename.rpartition(".")
    return f"{stem if dot and stem and kind.lower() == 'pdf' else filename}.xml"
