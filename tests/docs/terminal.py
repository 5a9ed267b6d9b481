"""A shell that is told what a reader types, line by line, and what the page says it prints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self

from tests.docs.markdown import Block
from tests.docs.running import without_settings

_END = "-- end of command --"
_ANYTHING = "…"


class Command(NamedTuple):
    """A line after `$ `, and what is shown below it."""

    line: str
    shown: tuple[str, ...]


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], ()))
        else:
            found[-1] = found[-1]._replace(shown=(*found[-1].shown, line))
    return found


def matches(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Tell whether lines were printed as shown; `…` stands for anything, alone for any lines."""
    pattern = ""
    for line in shown:
        if line == _ANYTHING:
            pattern += r"(?:[^\n]*\n)*?"
            continue
        parts = (r"\s+".join(map(re.escape, part.split())) for part in line.split(_ANYTHING))
        pattern += r"[^\n]*".join(parts) + r"[^\n]*\n"
    text = "".join(f"{line.strip()}\n" for line in printed)
    return re.fullmatch(pattern, text) is not None


class Terminal:
    """One shell in one folder, with job control, that finds this environment's programs."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env={**without_settings(), "PATH": path, "NO_COLOR": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.run("set -m")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.run("jobs -p | xargs --no-run-if-empty kill -9")
        self._shell.send_signal(signal.SIGKILL)
        self._shell.communicate()

    def run(self, line: str) -> list[str]:
        """Run one line and return what was printed, without what the shell says of its jobs."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{line}\necho '{_END}'\n")
        self._shell.stdin.flush()
        printed: list[str] = []
        while (said := self._shell.stdout.readline()).rstrip("\n") != _END:
            assert said, f"the shell ended at {line!r}"
            printed.append(said.rstrip("\n"))
        return [text for text in printed if not _is_of_the_shell(text)]


def _is_of_the_shell(text: str) -> bool:
    return re.match(r"\[\d+\][+-]? |bash: line \d+: ", text) is not None
