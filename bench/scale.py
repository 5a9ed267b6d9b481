"""Times claims in front of millions of finished and future jobs, and on an empty table.

python -m bench.scale [--finished 10000000] [--future 1000000] [--rounds 500]
"""

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from bench.database import Place, measured_places, opened_places, server_url
from bench.environments import BENCH
from bench.figure import tail_of
from bench.machine import machine
from bench.options import FSYNC, Names
from bench.process import Failed
from bench.progress import Progress, wide_console
from bench.report import Row, show, write
from bench.scaling.size import NoRoom, Size, checked_room
from bench.scaling.turns import Waits, time_claims

SIZES = {"postgresql": Size(10_000_000, 1_000_000), "sqlite": Size(1_000_000, 100_000)}
ROUNDS = 500
PARTS = 5
"""The claims are also shown in so many parts, because a table may slow down while it is used."""


@click.command()
@click.option(
    "--finished",
    type=click.IntRange(min=0),
    help="Finished jobs in the long table. [default: 10,000,000; SQLite 1,000,000]",
)
@click.option(
    "--future",
    type=click.IntRange(min=0),
    help="Jobs in it that are due later. [default: 1,000,000; SQLite 100,000]",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=PARTS),
    default=ROUNDS,
    show_default=True,
    help="Claims of each size on each table.",
)
@click.option("--ledger", is_flag=True, help="Give finished jobs their ledger entries, too.")
@click.option("--only", type=Names(list(SIZES)), help="Use these databases alone.")
@FSYNC
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=BENCH / "latest-scale.json",
    help="Where the rows go as JSON. [default: bench/latest-scale.json]",
)
def main(
    *,
    finished: int | None,
    future: int | None,
    rounds: int,
    ledger: bool,
    only: list[str] | None,
    fsync: bool,
    output: Path,
) -> None:
    """Time claims on a long table and an empty one in turns, print a table, write JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    console = wide_console()
    progress = Progress(console)
    sizes = {
        name: Size(
            finished=size.finished if finished is None else finished,
            future=size.future if future is None else future,
            ledger=ledger,
        )
        for name, size in SIZES.items()
        if only is None or name in only
    }
    try:
        for name, size in sizes.items():
            console.print(checked_room(name, size, in_memory=name == "sqlite" and not fsync))
        with opened_places(sizes, fsync=fsync) as places:
            header = machine(fsync=fsync, server_url=server_url(places))
            chosen = measured_places(places, fsync=fsync)
            rows, tables = _measure(chosen, sizes, progress, rounds=rounds)
    except (NoRoom, Failed) as reason:
        console.print(f"stopped: {reason}", style="red")
        sys.exit(1)
    console.print()
    show(console, rows)
    _show_tables(console, tables)
    header |= {"rounds": rounds, "sizes": {name: asdict(size) for name, size in sizes.items()}}
    write(output, header, rows, tables=tables)
    console.print(f"\nWritten to {output.name} after {progress.elapsed_s():.0f} s.")


def _measure(
    places: Mapping[str, Place], sizes: Mapping[str, Size], progress: Progress, *, rounds: int
) -> tuple[list[Row], dict[str, Any]]:
    rows: list[Row] = []
    tables: dict[str, Any] = {}
    for name, size in sizes.items():

        def say(what: str, name: str = name) -> None:
            progress.say(f"{name:<10}  {what}")

        waits, tables[name] = time_claims(places[name], size, say, rounds=rounds)
        rows += _rows(name, waits)
    return rows, tables


def _rows(store: str, waits: Waits) -> list[Row]:
    return [
        Row(
            workload=f"claim-{limit}-{store}",
            system=system,
            version=version("holdfast"),
            jobs=limit * len(took_ns),
            repeats=tuple(tail_of(part) for part in _parts(took_ns)),
            figure=tail_of(took_ns),
        )
        for (limit, system), took_ns in waits.items()
    ]


def _parts(waits_ns: Sequence[int]) -> list[Sequence[int]]:
    size = len(waits_ns) // PARTS
    return [waits_ns[start : start + size] for start in range(0, PARTS * size, size)]


def _show_tables(console: Console, tables: Mapping[str, Any]) -> None:
    for name, facts in tables.items():
        for table, words in facts.items():
            console.print(f"\n{name}, {table}:", style="bold")
            for what, value in words.items():
                shown = "\n" + "\n".join(value) if isinstance(value, list) else f" {value}"
                console.print(f"{what}:{shown}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
