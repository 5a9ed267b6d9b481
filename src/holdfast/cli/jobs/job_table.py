"""Jobs as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.cli.shell.output import Cell, Column, Output, Styled
from holdfast.core.job.job import JobState
from holdfast.views.durations import short
from holdfast.views.explain.job import remark
from holdfast.views.job import JobView

_STYLES: Final = {
    "processing": "cyan",
    "waiting": "magenta",
    "complete": "green",
    "failed": "red",
    "overdue": "red",
    "cancelled": "dim",
    "retrying": "yellow",
    "scheduled": "blue",
    "held": "yellow",
}
"""The colour of each state and label; a due job needs none."""
_ID_LENGTH: Final = 36
_LONGEST_LABEL: Final = 10

COLUMNS: Final = (
    Column("ID", least=_ID_LENGTH),
    Column("PIPELINE"),
    Column("STAGE"),
    Column("STATE", least=_LONGEST_LABEL),
    Column("ATTEMPT", numeric=True),
    Column("AGE", numeric=True),
    Column("", elastic=True),
)


NARROW: Final = 100
"""Below this width a remark has no room beside its job, and goes below it."""


def print_jobs(output: Output, views: Sequence[JobView]) -> None:
    """Print a table of jobs, each with the one thing worth knowing of it."""
    console = output.console
    if not console.is_terminal or console.width >= NARROW:
        output.table(COLUMNS, map(row_of, views))
        return
    heading, *lines = output.lines_of(
        output.table_of(COLUMNS[:-1], (row_of(view)[:-1] for view in views))
    )
    output.print_lines([heading])
    for view, line in zip(views, lines, strict=True):
        output.print_lines([line])
        if remark_of(view):
            output.words(Styled(f"  {remark_of(view)}"[: console.width - 1], "dim"))


def row_of(view: JobView) -> list[Cell]:
    """Return a job as a row of `COLUMNS`."""
    job = view.job
    return [
        view.id,
        job.pipeline,
        job.stage,
        state_of(view),
        job.attempt,
        short(view.read_at - job.created_at),
        Styled(remark_of(view), "" if view.state is JobState.FAILED else "dim"),
    ]


def remark_of(view: JobView) -> str:
    """Return the one thing worth knowing of a job, of a failed one with the class of its error."""
    if view.state is not JobState.FAILED:
        return remark(view)
    return f"{(view.error or {}).get('error_class', 'UNKNOWN')}: {remark(view)}"


def state_of(view: JobView) -> Styled:
    """Return the word for how the job stands, in its colour."""
    return Styled(view.label, _STYLES.get(view.label, ""))
