"""Runs holdfast and its peers side by side on one private PostgreSQL.

python -m bench.run [--quick] [--only drain-one-stage,latency] [--systems holdfast,pgqueuer]
"""

import os
import platform
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.console import Console

from bench.database import Database, PostgresPlace, SqlitePlace
from bench.environments import BENCH, CannotInstall
from bench.figure import Figure, in_words, middle
from bench.process import Failed
from bench.report import Row, show, write
from bench.system import System, describe, program_names
from bench.workload import Workload
from bench.workloads import WORKLOADS
from holdfast.testing.postgres_server import PrivatePostgres

TABLE_WIDTH = 100
Measured = tuple[Workload, System]


class Names(click.ParamType):
    """A list of known names, separated by commas."""

    name = "names"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(
        self, value: str, parameter: click.Parameter | None, context: click.Context | None
    ) -> list[str]:
        names = [name.strip() for name in value.split(",")]
        for name in names:
            if name not in self._known:
                self.fail(f"{name!r} is not one of {', '.join(self._known)}", parameter, context)
        return names


@click.command()
@click.option("--quick", is_flag=True, help="Fewer jobs: a look, not a measurement.")
@click.option(
    "--only",
    type=Names([workload.name for workload in WORKLOADS]),
    help="Run these workloads alone.",
)
@click.option("--systems", type=Names(program_names()), help="Run these systems alone.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    help="Measure this often, systems taking turns, and take the median. [default: 3, quick 1]",
)
@click.option("--fsync/--no-fsync", default=True, show_default=True, help="PostgreSQL's fsync.")
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
    console = Console(highlight=False)
    # A pipe has no width of its own, and the table must not be cut.
    console.width = max(console.width, TABLE_WIDTH)
    described = _describe(console, systems or program_names())
    chosen = [each for each in WORKLOADS if only is None or each.name in only]
    repeat = repeat or (1 if quick else 3)
    results = Results()
    missing = len(described) < len(systems or program_names())
    started = time.monotonic()
    with PrivatePostgres(durable=True, settings={} if fsync else {"fsync": "off"}) as server:
        machine = _machine(server.url) | {"jobs": "quick" if quick else "full", "repeat": repeat}
        places = {"postgres": PostgresPlace(server), "sqlite": SqlitePlace()}
        for workload, system in _turns(chosen, described, repeat=repeat):
            with places[workload.store].fresh() as database:
                results.measure(workload, system, database, quick=quick)
            elapsed_s = time.monotonic() - started
            console.print(f"{elapsed_s:4.0f} s  {results.latest(workload, system)}")
    rows = results.rows(chosen, described, quick=quick)
    console.print()
    show(console, rows)
    settings = {system.name: system.settings for system in described}
    write(output, machine | {"settings": settings}, rows)
    console.print(f"\nWritten to {output.name} after {time.monotonic() - started:.0f} s.")
    if results.errors or missing:
        sys.exit(1)


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
        """A line that says how the last measurement went."""
        error = self.errors.get((workload, system))
        what = f"failed: {error}" if error else in_words(self._figures[workload, system][-1])
        return f"{workload.name:<17}  {system.name:<20}  {what}"

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


def _machine(server_url: str) -> dict[str, Any]:
    with psycopg.connect(server_url) as connection:
        settings = connection.execute(
            "select name, current_setting(name) from unnest(%s::text[]) as name",
            [["server_version", "fsync", "synchronous_commit", "shared_buffers"]],
        ).fetchall()
    server = dict(settings)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": server.pop("server_version"),
        "postgresql_settings": server,
    }


if __name__ == "__main__":
    main()
