"""The rows of a run, as a table for people and as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.figure import Delay, Figure, Rate
from bench.system import OURS
from bench.targets import TARGETS


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


def ratio(row: Row, rows: Sequence[Row]) -> float | None:
    """holdfast's figure divided by this row's; below 1 is good for delays, above 1 for rates."""
    ours = next(
        (each.figure for each in rows if (each.system, each.workload) == (OURS, row.workload)),
        None,
    )
    match ours, row.figure:
        case Rate(), Rate():
            return ours.per_second / row.figure.per_second
        case Delay(), Delay():
            return ours.milliseconds / row.figure.milliseconds
        case _:
            return None


def show(console: Console, rows: Sequence[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("workload", "system", "version"):
        table.add_column(heading, no_wrap=True)
    for heading in ("figure", "p99", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("target", no_wrap=True)
    before = None
    for row in rows:
        if before is not None and before != row.workload:
            table.add_row()
        table.add_row(
            row.workload if before != row.workload else "",
            row.system,
            row.version,
            *_figure_cells(row),
            *_ratio_cells(row, rows),
        )
        before = row.workload
    console.print(table)
    console.print(
        f"\nratio: {OURS}'s figure over the system's; /s more is better, ms less is better"
    )
    for row in rows:
        if row.error is not None:
            console.print(f"{row.workload} on {row.system} failed: {row.error}", style="red")


def write(path: Path, machine: dict[str, Any], rows: Sequence[Row]) -> None:
    document = {"machine": machine, "rows": [_as_json(row, rows) for row in rows]}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _figure_cells(row: Row) -> tuple[str, str]:
    match row.figure:
        case Rate(per_second):
            return f"{per_second:,.0f} /s", ""
        case Delay(milliseconds, milliseconds_p99):
            return f"{milliseconds:.2f} ms", f"{milliseconds_p99:.2f} ms"
        case None:
            return "[red]failed[/]", ""


def _ratio_cells(row: Row, rows: Sequence[Row]) -> tuple[str, str]:
    value = ratio(row, rows)
    if value is None or row.system == OURS:
        return "", ""
    target = TARGETS.get((row.workload, row.system))
    if target is None:
        return f"{value:.2f}", ""
    verdict = "[green]met[/]" if target.is_met(value) else "[red]missed[/]"
    return f"{value:.2f}", f"{target} {verdict}"


def _as_json(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    value = ratio(row, rows)
    return {
        "workload": row.workload,
        "system": row.system,
        "version": row.version,
        **(asdict(row.figure) if row.figure is not None else {"error": row.error}),
        "ratio": None if value is None else round(value, 3),
        "jobs": row.jobs,
        "repeats": [asdict(figure) for figure in row.repeats],
    }
