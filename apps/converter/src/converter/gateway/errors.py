"""Why there is no XML, and whose move it is.

ConversionError
├── Refused         the file's fault: it will be refused again
├── MappingUnknown  the caller's: ask for a mapping there is
├── TimedOut        nobody's: the machine was too busy, try again
└── EngineFailed    ours: the log says more
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import ClassVar

from converter.gateway.limits import MEBIBYTE, Limits


class Reason(Enum):
    """Why a file is refused: its value is the stable code that clients see."""

    NOT_A_PDF = "not_a_pdf"
    TOO_LARGE = "pdf_too_large"
    TRUNCATED = "pdf_truncated"
    BROKEN = "pdf_broken"
    ENCRYPTED = "pdf_encrypted"
    PROTECTED = "pdf_protected"
    CYCLIC = "pdf_cyclic"
    TOO_MANY_PAGES = "too_many_pages"
    PAGE_SIZE = "page_size_impossible"
    TOO_COSTLY = "too_costly"
    RESULT_TOO_LARGE = "result_too_large"
    NO_TEXT = "no_text"


class ConversionError(Exception):
    """There is no XML; `code` says why, the text is one line for people."""

    code: ClassVar[str] = "conversion_failed"


class Refused(ConversionError):
    """The file is not converted, now or later; `reason` says why."""

    def __init__(self, reason: Reason, limits: Limits | None = None) -> None:
        self.reason = reason
        super().__init__(_sentence(reason, limits or Limits()))


class MappingUnknown(ConversionError):
    """There is no mapping of that name."""

    code = "mapping_unknown"

    def __init__(self, name: str, *, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(f"There is no mapping {name[:40]!r}; there are {', '.join(known)}.")


class TimedOut(ConversionError):
    """The conversion took too long without being at work all the time; try again."""

    code = "conversion_timed_out"

    def __init__(self, wall_s: int) -> None:
        self.wall_s = wall_s
        super().__init__(f"The conversion was not done after {wall_s} s; try again.")


class EngineFailed(ConversionError):
    """The conversion failed for a reason of ours; `detail` is for the log."""

    code = "engine_failed"

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__("The conversion failed for a reason that is not the file's.")


def _sentence(reason: Reason, limits: Limits) -> str:
    match reason:
        case Reason.NOT_A_PDF:
            return "The file is not a PDF."
        case Reason.TOO_LARGE:
            return f"The file has more than {limits.max_pdf_bytes} bytes."
        case Reason.TRUNCATED:
            return "The PDF has no end: it was cut off on its way."
        case Reason.BROKEN:
            return "The PDF is broken: it has no page that can be read."
        case Reason.ENCRYPTED:
            return "The PDF is encrypted: it needs a password."
        case Reason.PROTECTED:
            return "The PDF does not allow its text to be copied."
        case Reason.CYCLIC:
            return "The pages of the PDF contain themselves."
        case Reason.TOO_MANY_PAGES:
            return f"The PDF has more than {limits.max_pages} pages."
        case Reason.PAGE_SIZE:
            return "The PDF has a page of an impossible size."
        case Reason.TOO_COSTLY:
            return (
                f"The PDF takes more than {limits.cpu_s} s of computing or "
                f"{limits.memory_bytes // MEBIBYTE} MiB of memory."
            )
        case Reason.RESULT_TOO_LARGE:
            return f"The XML of the PDF would have more than {limits.max_xml_bytes} bytes."
        case Reason.NO_TEXT:
            return "The PDF has no text: its pages are blank or pictures, as scanners make them."
