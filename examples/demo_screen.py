"""How the demo shows itself: a calm screen on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from demo_tally import KEPT, Tally
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from holdfast import JobState

WIDTH = 80
BLOCKS = " ▁▂▃▄▅▆▇█"
LINE_EVERY_S = 2.0

# Colours of the terminal's own palette, so that they suit a light one and a dark one.
SHARES = (
    ("complete", "green", "━"),
    ("failed", "red", "━"),
    ("processing", "blue", "━"),
    ("retrying", "yellow", "━"),
    ("queued", "dim", "━"),
)


class View(Protocol):
    """Shows a tally, again and again, until it is left."""

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(self, *_: object) -> None:
        """Leave what was shown last."""
        ...

    def show(self, tally: Tally, *, elapsed_s: float, hint: str, warning: str = "") -> None:
        """Show how the jobs stand, and the warning, if any, instead of the hint."""
        ...


def counts(tally: Tally) -> dict[str, int]:
    """Return how many of the known jobs stand where."""
    return {
        "queued": tally.count("due") + tally.count("scheduled"),
        "retrying": tally.count("retrying"),
        "processing": tally.count("processing"),
        "complete": tally.ended[JobState.COMPLETE],
        "failed": tally.ended[JobState.FAILED],
    }


def rate(tally: Tally, *, elapsed_s: float) -> float:
    """Return how many jobs completed per second, of late."""
    seconds = min(max(int(elapsed_s), 1), 10)
    return sum(tally.per_second()[-seconds:]) / seconds


class Screen:
    """Redraws one picture of fixed height."""

    def __init__(self, console: Console, *, title: str, subtitle: str, goal: int | None) -> None:
        self._console = console
        self._title = title
        self._subtitle = subtitle
        self._goal = goal
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, tally: Tally, *, elapsed_s: float, hint: str, warning: str = "") -> None:
        """Draw the picture."""
        footer = Text(warning or hint, style="red" if warning else "dim")
        picture = self._picture(tally, elapsed_s=elapsed_s, footer=footer)
        self._live.update(picture, refresh=True)

    def _picture(self, tally: Tally, *, elapsed_s: float, footer: Text) -> RenderableType:
        width = min(self._console.width, WIDTH) - 2
        numbers = counts(tally)
        lines: list[RenderableType] = [
            self._heading(elapsed_s, width),
            Text(self._subtitle, style="dim"),
            Text(),
            _bar(numbers, total=max(self._goal or 0, tally.known), width=width),
            _legend(numbers),
            _pace(tally, elapsed_s=elapsed_s),
            Text(),
            _side_by_side(_waiting(tally), _completions(tally), width=width),
            Text(),
            _troubles(tally),
            Text(),
            footer,
        ]
        frame = Table.grid(padding=(0, 1))
        frame.add_column(width=width)
        frame.add_row(Group(*lines))
        return frame

    def _heading(self, elapsed_s: float, width: int) -> Table:
        minutes, seconds = divmod(int(elapsed_s), 60)
        heading = Table.grid(expand=True)
        heading.width = width
        heading.add_column(no_wrap=True, overflow="ellipsis")
        heading.add_column(justify="right", no_wrap=True)
        title = Text.assemble(("holdfast", "bold"), ("  " + self._title, "dim"))
        heading.add_row(title, Text(f"{minutes}:{seconds:02}", style="dim"))
        return heading


def _bar(numbers: dict[str, int], *, total: int, width: int) -> Text:
    """Return a bar whose parts are the states of the jobs; what is not submitted yet is blank."""
    bar = Text()
    drawn = seen = 0
    for name, style, glyph in SHARES:
        seen += numbers[name]
        upto = round(width * seen / total) if total else 0
        # Even one failure in a thousand is worth a cell.
        upto = max(upto, drawn + 1) if numbers[name] and drawn < width else upto
        bar.append(glyph * max(upto - drawn, 0), style=style)
        drawn = max(upto, drawn)
    bar.append("┄" * (width - drawn), style="dim")
    bar.truncate(width)
    return bar


def _legend(numbers: dict[str, int]) -> Text:
    legend = Text()
    for name, style, _ in SHARES:
        legend.append("● ", style=style)
        legend.append(f"{name} ", style="dim")
        legend.append(f"{numbers[name]:<6}", style="bold" if numbers[name] else "dim")
    return legend


def _pace(tally: Tally, *, elapsed_s: float) -> Text:
    seconds = tally.per_second()
    most = max(*seconds, 1)
    spark = "".join(BLOCKS[-(-count * (len(BLOCKS) - 1) // most)] for count in seconds)
    return Text.assemble(
        (f"{rate(tally, elapsed_s=elapsed_s):.1f}", "bold"),
        (" jobs/s  ", "dim"),
        (spark, "green"),
        (f"  {tally.retried} retries so far", "dim"),
    )


def _section(title: str, remark: str = "") -> Table:
    table = Table.grid(padding=(0, 1))
    table.title = Text.assemble((title, "bold"), (f"  {remark}", "dim"))
    table.title_justify = "left"
    return table


def _filled(table: Table, rows: Sequence[Sequence[RenderableType]], *, columns: int) -> Table:
    """Add rows, and blank ones up to the fixed height, so that nothing below moves."""
    for row in rows:
        table.add_row(*row)
    for _ in range(KEPT - len(rows)):
        table.add_row(*[" "] * columns)
    return table


def _waiting(tally: Tally) -> Table:
    retrying = tally.retrying()
    more = len(retrying) - KEPT
    table = _section("Retries waiting", f"and {more} more" if more > 0 else "")
    for width in (9, 9, 9):
        table.add_column(width=width, no_wrap=True)
    table.add_column(width=7, no_wrap=True, justify="right")
    rows = [
        (
            job.article,
            Text(job.stage, style="dim"),
            Text(f"attempt {job.attempt + 1}", style="dim"),
            Text(f"{max(job.due_in_s, 0):.1f} s", style="yellow"),
        )
        for job in retrying[:KEPT]
    ]
    return _filled(table, rows, columns=4)


def _completions(tally: Tally) -> Table:
    table = _section("Recent completions")
    table.add_column(width=9, no_wrap=True)
    table.add_column(width=7, no_wrap=True, justify="right")
    table.add_column(width=11, no_wrap=True)
    rows = [
        (
            job.article,
            Text(f"{job.took_s:.1f} s", style="green"),
            Text(_times(job.retries, "retry", "retries"), style="dim"),
        )
        for job in reversed(tally.completions)
    ]
    return _filled(table, rows, columns=3)


def _troubles(tally: Tally) -> Table:
    table = _section("Recent failures")
    for width in (8, 9, 9, 20):
        table.add_column(width=width, no_wrap=True)
    table.add_column(width=20, no_wrap=True)
    rows = [
        (
            Text(trouble.at, style="dim"),
            trouble.article,
            Text(trouble.stage, style="dim"),
            Text(_cause(trouble.error_class, trouble.http_status), style="red"),
            _consequence(trouble.delay_s),
        )
        for trouble in reversed(tally.troubles)
    ]
    return _filled(table, rows, columns=5)


def _cause(error_class: str, http_status: int | None) -> str:
    return error_class if http_status is None else f"{error_class} {http_status}"


def _consequence(delay_s: float | None) -> Text:
    if delay_s is None:
        return Text("failed for good", style="red")
    return Text(f"again in {delay_s:.1f} s", style="yellow")


def _times(count: int, one: str, many: str) -> str:
    return "" if not count else f"{count} {one if count == 1 else many}"


def _side_by_side(left: Table, right: Table, *, width: int) -> Table:
    both = Table.grid(padding=(0, 2))
    both.add_column(width=width // 2)
    both.add_column(width=width // 2 - 2)
    both.add_row(left, right)
    return both


class Lines:
    """Prints a line now and then, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._printed_at_s = -LINE_EVERY_S

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, tally: Tally, *, elapsed_s: float, hint: str, warning: str = "") -> None:
        """Print how the jobs stand, unless that was said a moment ago; hints are for people."""
        del hint
        if elapsed_s - self._printed_at_s < LINE_EVERY_S:
            return
        self._printed_at_s = elapsed_s
        if warning:
            self._print(time.strftime("%H:%M:%S"), warning)
            return
        self._print(
            time.strftime("%H:%M:%S"),
            *(f"{name} {number}" for name, number in counts(tally).items()),
            f"retries {tally.retried}",
            f"{rate(tally, elapsed_s=elapsed_s):.1f} jobs/s",
        )

    def _print(self, *parts: str) -> None:
        self._console.print("  ".join(parts), markup=False, highlight=False, soft_wrap=True)


def summary(tally: Tally, *, elapsed_s: float) -> Iterator[str]:
    """Return the lines that account for every job."""
    came = f"{tally.submitted} submitted"
    if tally.found:
        came += f" + {tally.found} found"
    ends = [f"{tally.ended[JobState.COMPLETE]} complete", f"{tally.ended[JobState.FAILED]} failed"]
    if tally.ended[JobState.CANCELLED]:
        ends.append(f"{tally.ended[JobState.CANCELLED]} cancelled")
    ends.append(f"{tally.still_open} still to do")
    yield f"{came} = {' + '.join(ends)}, in {elapsed_s:.0f} s"
    yield f"{tally.retried} attempts failed on the way and were tried again"


def hints(tally: Tally, *, database_url: str | None) -> Iterator[tuple[str, str]]:
    """Return what to try next: commands, and what each shows."""
    if database_url:
        named = database_url if database_url.startswith("sqlite:") else "postgresql://…"
        yield f"export HOLDFAST_DATABASE_URL={named}", "where the commands below look"
    yield ".venv/bin/holdfast jobs list --state failed", "what failed, and why"
    if tally.latest is not None:
        yield f".venv/bin/holdfast jobs show {tally.latest}", "all that happened to one job"
    yield "kill -9 it, and run it again", "nothing is lost"
    if not database_url:
        yield (
            "DATABASE_URL=postgresql://… .venv/bin/python examples/demo.py",
            "the same on PostgreSQL",
        )
