"""The rows of a run, as a table for people and as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.figure import Cost, Delay, Figure, Rate, Tail, in_words, size_of
from bench.system import OURS
from bench.targets import RATIO_TARGETS, Target, figure_target


@dataclass(frozen=True, slots=True)
class Row:
    """One workload on one system: a figure, or the reason why there is none."""

    workload: str
    system: str
    version: str
    jobs: int
    repeats: tuple[Figure, ...]
    figure: Figure | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target and whether it was reached."""

    target: Target
    met: bool


def ratio(row: Row, rows: Sequence[Row]) -> float | None:
    """holdfast's figure divided by this row's; below 1 is good for times, above 1 for rates."""
    is_compared = isinstance(row.figure, Rate | Delay | Tail)
    if not is_compared and not (isinstance(row.figure, Cost) and row.system != OURS):
        return None
    ours = next(
        (each.figure for each in rows if (each.system, each.workload) == (OURS, row.workload)),
        None,
    )
    return None if ours is None else size_of(ours) / size_of(row.figure)


def verdict(row: Row, rows: Sequence[Row]) -> Verdict | None:
    """How the row stands against its target, where it has one and a figure."""
    target = RATIO_TARGETS.get((row.workload, row.system))
    value = ratio(row, rows)
    if target is None and row.system == OURS:
        target = figure_target(row.workload)
        value = None if row.figure is None else size_of(row.figure)
    return None if target is None or value is None else Verdict(target, target.is_met(value))


def show(console: Console, rows: Sequence[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("workload", "system", "version"):
        table.add_column(heading, no_wrap=True)
    for heading in ("figure", "p99", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("target", no_wrap=True)
    before: Row | None = None
    for row in rows:
        if before is not None and _block(before) != _block(row):
            table.add_row()
        repeated = before is not None and before.workload == row.workload
        table.add_row(
            "" if repeated else row.workload,
            row.system,
            row.version,
            *_figure_cells(row),
            *_ratio_cells(row, rows),
        )
        before = row
    console.print(table)
    console.print(
        f"\nratio: {OURS}'s figure over the system's; above 1 is good for /s, bad for ms and µs"
    )
    for row in rows:
        if row.error is not None:
            console.print(f"{row.workload} on {row.system} failed: {row.error}", style="red")


def write(path: Path, machine: dict[str, Any], rows: Sequence[Row], **more: Any) -> None:
    document = {"machine": machine, "rows": [_as_json(row, rows) for row in rows], **more}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _block(row: Row) -> str:
    """Rows of one block stand together: those that are compared, and those without a peer."""
    is_compared = row.figure is None or isinstance(row.figure, Rate | Delay | Tail)
    return row.workload if is_compared else ""


def _figure_cells(row: Row) -> tuple[str, str]:
    return ("[red]failed[/]", "") if row.figure is None else in_words(row.figure)


def _ratio_cells(row: Row, rows: Sequence[Row]) -> tuple[str, str]:
    value = ratio(row, rows)
    shown = "" if value is None or row.system == OURS else f"{value:.2f}"
    reached = verdict(row, rows)
    if reached is None:
        return shown, ""
    return shown, f"{reached.target} {'[green]met[/]' if reached.met else '[red]missed[/]'}"


def _as_json(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    value = ratio(row, rows)
    reached = verdict(row, rows)
    return {
        "workload": row.workload,
        "system": row.system,
        "version": row.version,
        **(asdict(row.figure) if row.figure is not None else {"error": row.error}),
        "ratio": None if value is None else round(value, 3),
        "target": None if reached is None else str(reached.target),
        "met": None if reached is None else reached.met,
        "jobs": row.jobs,
        "repeats": [asdict(figure) for figure in row.repeats],
    }
