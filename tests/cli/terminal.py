"""Commands on a terminal, as a person sees and answers them."""

import os
import pty
import re
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.cli.sample_app import URL_VARIABLE
from tests.warm.process import WarmProcess

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Session(NamedTuple):
    """What a command drew, and how it ended."""

    drawn: str
    exit_code: int

    @property
    def plain(self) -> str:
        """The text without colours and movements."""
        return _ESCAPES.sub("", self.drawn).replace("\r", "")


def environment(database_url: str, **others: str) -> dict[str, str]:
    """Return the variables under which a command finds the sample application."""
    return {
        **os.environ,
        URL_VARIABLE: database_url,
        "HOLDFAST_APP": "tests.cli.sample_app:make",
        "PYTHONPATH": str(ROOT),
        **others,
    }


def on_terminal(
    arguments: list[str],
    variables: dict[str, str],
    *,
    act: Callable[[], object] = lambda: None,
    keys: str = "",
    seen: str = "",
) -> Session:
    """Run a command on a terminal; once it has drawn `seen`, act and press keys."""
    ours, theirs = pty.openpty()
    process = WarmProcess(
        [sys.executable, "-m", "holdfast", *arguments],
        env={"COLUMNS": "120", "LINES": "30", **variables, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written, acted, until = b"", False, time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    read = os.read(ours, 65_536)
                except OSError:  # the other side is closed
                    break
                written += read
            if written and seen.encode() in written and not acted:
                act()
                os.write(ours, keys.encode())
                acted = True
        exit_code = process.wait(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return Session(written.decode(), exit_code)
