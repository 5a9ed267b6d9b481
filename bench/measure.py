"""What a measure is: figures that are no jobs' pace, each with a bound of its own or none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.database import Place
from bench.figure import Figure
from bench.process import Failed
from bench.report import Row
from bench.system import OURS


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where to measure, and how long."""

    places: Mapping[str, Place]
    """Databases by the name that workloads end with: `postgresql`, `sqlite`."""
    quick: bool
    files: Path | None = None
    """Where folders with files are made; None where temporary ones usually are."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One row to be: the figure, and how many jobs or calls it was taken from."""

    workload: str
    figure: Figure
    jobs: int
    system: str = OURS
    version: str = version("holdfast")


@dataclass(frozen=True, slots=True)
class Measure:
    """A program that yields figures as it gets them."""

    name: str
    measure: Callable[[Conditions], Iterator[Measured]]


def rows_of(measures: Sequence[Measure], conditions: Conditions) -> Iterator[Row]:
    """A row per figure; a measure that breaks off leaves a row that says why."""
    for each in measures:
        try:
            for measured in each.measure(conditions):
                yield _row(measured)
        except Failed as failed:
            yield Row(
                workload=each.name,
                system=OURS,
                version=version("holdfast"),
                jobs=0,
                repeats=(),
                figure=None,
                error=str(failed),
            )


def _row(measured: Measured) -> Row:
    return Row(
        workload=measured.workload,
        system=measured.system,
        version=measured.version,
        jobs=measured.jobs,
        repeats=(measured.figure,),
        figure=measured.figure,
    )
