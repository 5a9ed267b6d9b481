"""A conversion: a child process with limits, a folder of its own, and what became of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Final

from converter.gateway.errors import EngineFailed, MappingUnknown, Reason, Refused, TimedOut
from converter.gateway.limits import Limits
from converter.gateway.mappings import MAPPINGS
from converter.gateway.order import Order, reason_of
from converter.gateway.pdf_check import check_pdf

_LOG_BYTES: Final = 2_000


class Engine(StrEnum):
    """What reads PDFs; `AUTO` is poppler where it is installed."""

    AUTO = "auto"
    POPPLER = "poppler"
    PDFMINER = "pdfminer"

    def resolved(self) -> Engine:
        """Return the engine that `AUTO` stands for here."""
        if self is not Engine.AUTO:
            return self
        return Engine.PDFMINER if pdftohtml() is None else Engine.POPPLER


def pdftohtml() -> Path | None:
    """Return where poppler's program is, None where it is not installed."""
    found = shutil.which("pdftohtml")
    return None if found is None else Path(found).resolve()


def convert(
    pdf: Path, mapping: str, limits: Limits | None = None, *, engine: Engine = Engine.AUTO
) -> bytes:
    """Return the XML of a PDF by a mapping, or raise a `ConversionError`.

    What reads the file is a process of its own that ends with the call, by itself or killed with
    all it has started; nothing of it stays on the disk.
    """
    given = limits or Limits()
    if mapping not in MAPPINGS:
        raise MappingUnknown(mapping, known=MAPPINGS)
    check_pdf(pdf, given)
    with tempfile.TemporaryDirectory(prefix="converter-") as name:
        folder = Path(name)
        result = folder / "result.xml"
        order = Order(
            pdf=pdf.resolve(),
            mapping=mapping,
            result=result,
            pdftohtml=_program_of(engine),
            limits=given,
        )
        exit_code = _run(order, folder)
        if exit_code == 0:
            return result.read_bytes()
        raise _error_of(exit_code, given, folder / "log")


def _program_of(engine: Engine) -> Path | None:
    if engine.resolved() is Engine.PDFMINER:
        return None
    program = pdftohtml()
    if program is None:
        raise EngineFailed("pdftohtml is not installed here (Debian: poppler-utils)")
    return program


def _run(order: Order, folder: Path) -> int:
    """Run a child process and return its exit code, or kill it and raise `TimedOut`."""
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-I", "-m", "converter.gateway.child", order.to_json()],
            stdin=subprocess.DEVNULL,
            # Says nothing; that it is closed tells at once that the child has ended.
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=folder,
            env={"HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"},
            start_new_session=True,
        )
    try:
        child.communicate(timeout=order.limits.wall_s)
    except subprocess.TimeoutExpired:
        raise TimedOut(order.limits.wall_s) from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    return child.returncode


def _error_of(exit_code: int, limits: Limits, log: Path) -> Refused | EngineFailed:
    if exit_code == -signal.SIGXCPU:
        return Refused(Reason.TOO_COSTLY, limits)
    reason = reason_of(exit_code)
    if reason is not None:
        return Refused(reason, limits)
    said = log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace")
    return EngineFailed(f"the child process ended with {exit_code}: {said}")
