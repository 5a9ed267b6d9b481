"""Measures holdfast alone: decisions, submissions, an idle worker, memory.

python -m bench.micro [--quick] [--only decide,idle]
"""

import signal
import sys
from pathlib import Path

import click

from bench.database import files_folder, measured_places, opened_places, server_url
from bench.environments import BENCH
from bench.machine import machine
from bench.measure import Conditions, rows_of
from bench.measures import MEASURES
from bench.options import FSYNC, QUICK, Names
from bench.progress import Progress, wide_console
from bench.report import show, write


@click.command()
@QUICK
@click.option(
    "--only", type=Names([each.name for each in MEASURES]), help="Take these measures alone."
)
@FSYNC
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=BENCH / "latest-micro.json",
    help="Where the rows go as JSON. [default: bench/latest-micro.json]",
)
def main(*, quick: bool, only: list[str] | None, fsync: bool, output: Path) -> None:
    """Measure holdfast alone, print a table, write the rows as JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    console = wide_console()
    progress = Progress(console)
    chosen = [each for each in MEASURES if only is None or each.name in only]
    with opened_places({"postgresql"}, fsync=fsync) as places:
        header = machine(fsync=fsync, server_url=server_url(places))
        conditions = Conditions(
            measured_places(places, fsync=fsync), quick=quick, files=files_folder(fsync=fsync)
        )
        rows = progress.told(rows_of(chosen, conditions))
    console.print()
    show(console, rows)
    write(output, header | {"jobs": "quick" if quick else "full"}, rows)
    console.print(f"\nWritten to {output.name} after {progress.elapsed_s():.0f} s.")
    if any(row.error for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
