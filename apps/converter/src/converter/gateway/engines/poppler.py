"""The engine poppler: its program `pdftohtml`, run under the limits of this process."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Final
from xml.parsers import expat

from converter.gateway.confinement import end_with_parent
from converter.gateway.document import Document, Font, Fragment, Page
from converter.gateway.errors import Reason, Refused
from converter.gateway.limits import Limits
from converter.gateway.order import Order
from converter.gateway.xml_text import escaped_attribute, legal

_NO_FONT: Final = Font("", 0.0)
_COMPLAINT_BYTES: Final = 256 * 1024
_FONT_NAME: Final = re.compile(r'(?<= family=")(.*)(?=" color="#[0-9a-f]{6}"/>$)')
_COMPLAINTS: Final = {
    "Incorrect password": Reason.ENCRYPTED,
    "Copying of text from this document is not allowed": Reason.PROTECTED,
    "Loop in Pages tree": Reason.CYCLIC,
    "Out of memory": Reason.TOO_COSTLY,
    "bad_alloc": Reason.TOO_COSTLY,
}
_ENDS: Final = {
    signal.SIGXCPU: Reason.TOO_COSTLY,
    signal.SIGABRT: Reason.TOO_COSTLY,
    signal.SIGXFSZ: Reason.RESULT_TOO_LARGE,
    signal.SIGSEGV: Reason.BROKEN,
}


class PopplerMisspoke(Exception):
    """What poppler wrote is not XML: it takes some names from the file as they are."""


def read_with_poppler(order: Order, pdftohtml: Path) -> Document:
    """Read the file, or raise `Refused` or `PopplerMisspoke`."""
    said = order.result.with_name("pdftohtml.xml")
    complained = order.result.with_name("pdftohtml.log")
    with said.open("wb") as out, complained.open("wb") as log:
        done = subprocess.run(  # noqa: S603 - a program of the machine, on a file we have named
            [
                *(pdftohtml, "-xml", "-stdout", "-i", "-hidden", "-zoom", "1"),
                *("-noroundcoord", "-fontfullname", "-l", str(order.limits.max_pages + 1)),
                order.pdf,
            ],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            preexec_fn=end_with_parent,
            check=False,
        )
    _judge(done.returncode, complained)
    return _Reader(order.limits).read(said)


def _judge(exit_code: int, complained: Path) -> None:
    """Raise `Refused` where pdftohtml gave up, or left out what it should not."""
    with complained.open("rb") as log:
        complaint = log.read(_COMPLAINT_BYTES).decode("utf-8", "replace")
    for phrase, reason in _COMPLAINTS.items():
        if phrase in complaint:
            raise Refused(reason)
    if exit_code < 0:
        ended_by = signal.Signals(-exit_code)
        if ended_by not in _ENDS:
            raise RuntimeError(f"pdftohtml was ended by {ended_by.name}")
        raise Refused(_ENDS[ended_by])
    if exit_code > 0:
        raise Refused(Reason.BROKEN)


class _Reader:
    """Makes a document of what pdftohtml wrote, line by line."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._version = ""
        self._fonts: dict[str, Font] = {}
        self._pages: list[Page] = []
        self._fragments: list[Fragment] = []
        self._of_page: dict[str, str] = {}
        self._of_text: dict[str, str] | None = None
        self._text: list[str] = []

    def read(self, said: Path) -> Document:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            with said.open(encoding="utf-8", errors="replace", newline="\n") as lines:
                for line in lines:
                    parser.Parse(_mended(line).encode("utf-8"), False)  # noqa: FBT003 - expat's own
            parser.Parse(b"", True)  # noqa: FBT003 - expat's own
        except expat.ExpatError as error:
            raise PopplerMisspoke(str(error)) from error
        return Document(engine="poppler", version=self._version, pages=tuple(self._pages))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "pdf2xml":
                self._version = attributes.get("version", "")
            case "page":
                if len(self._pages) >= self._limits.max_pages:
                    raise Refused(Reason.TOO_MANY_PAGES)
                self._of_page = attributes
            case "fontspec":
                self._fonts[attributes.get("id", "")] = Font(
                    attributes.get("family", ""), _number(attributes, "size")
                )
            case "text":
                self._of_text = attributes

    def _characters(self, text: str) -> None:
        if self._of_text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        if name == "text" and self._of_text is not None:
            self._fragments.append(
                Fragment(
                    left=_number(self._of_text, "left"),
                    top=_number(self._of_text, "top"),
                    width=_number(self._of_text, "width"),
                    height=_number(self._of_text, "height"),
                    font=self._fonts.get(self._of_text.get("font", ""), _NO_FONT),
                    text="".join(self._text),
                )
            )
            self._of_text, self._text = None, []
        elif name == "page":
            self._pages.append(
                Page(
                    number=len(self._pages) + 1,
                    width=_number(self._of_page, "width"),
                    height=_number(self._of_page, "height"),
                    fragments=tuple(self._fragments),
                )
            )
            self._fragments = []


def _mended(line: str) -> str:
    """Return a line of pdftohtml as XML: it neither drops nor escapes all that it has to."""
    kept = legal(line)
    if not kept.startswith("\t<fontspec "):
        return kept
    return _FONT_NAME.sub(lambda found: escaped_attribute(found[1]), kept)


def _number(attributes: dict[str, str], name: str) -> float:
    try:
        return float(attributes.get(name, "0"))
    except ValueError:
        return 0.0
