"""Runs holdfast and its peers side by side on one private PostgreSQL.

python -m bench.run [--quick] [--only drain-one-stage,latency] [--systems holdfast,pgqueuer]
"""

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console

from bench.database import (
    Database,
    Place,
    files_folder,
    measured_places,
    opened_places,
    server_url,
)
from bench.environments import BENCH, CannotInstall
from bench.figure import Figure, in_a_line, middle
from bench.machine import machine
from bench.measure import Conditions, rows_of
from bench.measures import MEASURES
from bench.options import FSYNC, QUICK, Names
from bench.process import Failed
from bench.progress import Progress, wide_console
from bench.report import Row, show, write
from bench.system import OURS, System, describe, program_names
from bench.workload import Workload
from bench.workloads import WORKLOADS

Measured = tuple[Workload, System]


@click.command()
@QUICK
@click.option(
    "--only",
    type=Names([each.name for each in (*WORKLOADS, *MEASURES)]),
    help="Run these workloads and measures alone.",
)
@click.option("--systems", type=Names(program_names()), help="Run these systems alone.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    help="Measure this often, systems taking turns, and take the median. [default: 3, quick 1]",
)
@FSYNC
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=BENCH / "latest.json",
    help="Where the rows go as JSON. [default: bench/latest.json]",
)
def main(
    *,
    quick: bool,
    only: list[str] | None,
    systems: list[str] | None,
    repeat: int | None,
    fsync: bool,
    output: Path,
) -> None:
    """Measure holdfast and its peers side by side, print a table, write the rows as JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    console = wide_console()
    names = systems or program_names()
    described = _describe(console, names)
    workloads = [each for each in WORKLOADS if only is None or each.name in only]
    measures = [each for each in MEASURES if only is None or each.name in only]
    repeat = repeat or (1 if quick else 3)
    progress = Progress(console)
    wanted = {each.store for each in workloads} | ({"postgresql"} if measures else set())
    with opened_places(wanted, fsync=fsync) as places:
        header = machine(fsync=fsync, server_url=server_url(places))
        workloads = [each for each in workloads if each.store in places]
        results = _side_by_side(workloads, described, places, progress, quick=quick, repeat=repeat)
        rows = results.rows(workloads, described, quick=quick)
        if OURS in names and measures:
            conditions = Conditions(
                measured_places(places, fsync=fsync), quick=quick, files=files_folder(fsync=fsync)
            )
            rows += progress.told(rows_of(measures, conditions))
    console.print()
    show(console, rows)
    header |= {
        "jobs": "quick" if quick else "full",
        "repeat": repeat,
        "settings": {system.name: system.settings for system in described},
    }
    write(output, header, rows)
    console.print(f"\nWritten to {output.name} after {progress.elapsed_s():.0f} s.")
    if len(described) < len(names) or any(row.error for row in rows):
        sys.exit(1)


def _side_by_side(
    workloads: Sequence[Workload],
    systems: Sequence[System],
    places: Mapping[str, Place],
    progress: Progress,
    *,
    quick: bool,
    repeat: int,
) -> "Results":
    results = Results()
    for workload, system in _turns(workloads, systems, repeat=repeat):
        with places[workload.store].fresh() as database:
            results.measure(workload, system, database, quick=quick)
        progress.tell(workload.name, system.name, results.latest(workload, system))
    return results


class Results:
    """The figures of a run so far, and what went wrong."""

    def __init__(self) -> None:
        self._figures: dict[Measured, list[Figure]] = {}
        self.errors: dict[Measured, str] = {}

    def measure(
        self, workload: Workload, system: System, database: Database, *, quick: bool
    ) -> None:
        jobs = workload.jobs_for(system, quick=quick)
        try:
            figure = workload.measure(system, database, jobs)
        except Failed as failed:
            self.errors[workload, system] = str(failed)
        else:
            self._figures.setdefault((workload, system), []).append(figure)

    def latest(self, workload: Workload, system: System) -> str:
        """How the last measurement went, in words."""
        error = self.errors.get((workload, system))
        return f"failed: {error}" if error else in_a_line(self._figures[workload, system][-1])

    def rows(
        self, workloads: Sequence[Workload], systems: Sequence[System], *, quick: bool
    ) -> list[Row]:
        return [
            self._row(workload, system, jobs=workload.jobs_for(system, quick=quick))
            for workload in workloads
            for system in systems
            if workload.name in system.workloads
        ]

    def _row(self, workload: Workload, system: System, *, jobs: int) -> Row:
        figures = tuple(self._figures.get((workload, system), ()))
        error = self.errors.get((workload, system))
        return Row(
            workload=workload.name,
            system=system.name,
            version=system.version,
            jobs=jobs,
            repeats=figures,
            # One failed repeat is enough to distrust the others.
            figure=None if error else middle(figures),
            error=error,
        )


def _describe(console: Console, names: Sequence[str]) -> list[System]:
    systems: list[System] = []
    for name in names:
        try:
            system = describe(name, console.print)
        except (CannotInstall, Failed) as reason:
            console.print(f"{name} is left out: {reason}", style="red")
        else:
            console.print(f"{system.name} {system.version}")
            systems.append(system)
    return systems


def _turns(
    workloads: Sequence[Workload], systems: Sequence[System], *, repeat: int
) -> Iterator[Measured]:
    """Every system in turn, in alternating order, so that drifts of the machine hit all alike."""
    for workload in workloads:
        for turn in range(repeat):
            for system in systems if turn % 2 == 0 else reversed(systems):
                if workload.name in system.workloads:
                    yield workload, system


if __name__ == "__main__":
    main()
