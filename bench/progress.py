"""Lines that say what was measured, as it is measured."""

import time
from collections.abc import Iterable

from rich.console import Console

from bench.figure import in_a_line
from bench.report import Row

TABLE_WIDTH = 108


def wide_console() -> Console:
    console = Console(highlight=False)
    # A pipe has no width of its own, and the table must not be cut.
    console.width = max(console.width, TABLE_WIDTH)
    return console


class Progress:
    """Tells what happens, each line with the seconds since the start."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started_s = time.monotonic()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def say(self, line: str) -> None:
        self._console.print(f"{self.elapsed_s():4.0f} s  {line}")

    def tell(self, workload: str, system: str, what: str) -> None:
        self.say(f"{workload:<31}  {system:<21}  {what}")

    def told(self, rows: Iterable[Row]) -> list[Row]:
        """The rows, each told as it comes."""
        kept: list[Row] = []
        for row in rows:
            what = f"failed: {row.error}" if row.figure is None else in_a_line(row.figure)
            self.tell(row.workload, row.system, what)
            kept.append(row)
        return kept
