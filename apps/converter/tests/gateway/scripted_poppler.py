"""A program that takes the place of pdftohtml and does what a test tells it to."""

from __future__ import annotations

import sys
from pathlib import Path

_OUTPUT = '<pdf2xml version="0"><page number="1" width="612" height="792">{}</page></pdf2xml>'


def install(folder: Path, monkeypatch, body: str) -> None:
    """Put a `pdftohtml` first in the path whose main part is this Python; `say` is its output."""
    program = folder / "pdftohtml"
    program.write_text(
        f"#!{sys.executable} -I\n"
        "import html, os, signal, socket, subprocess, sys, time\n"
        "def say(text):\n"
        '    words = f\'<text top="0" left="0" width="1" height="1">{html.escape(text)}</text>\'\n'
        f"    print({_OUTPUT!r}.format(words), flush=True)\n"
        f"{body}\n",
        "utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
