"""`holdfast jobs watch`: jobs as they change, live on a terminal and line by line elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Self

import click

from holdfast.cli.jobs.job_table import COLUMNS, remark_of, row_of
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.options import Filter, duration, filter_options
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.program import Command
from holdfast.core.job.job import ENDED, JobState
from holdfast.core.values.ids import JobId
from holdfast.engine.app import Holdfast
from holdfast.errors import UnavailableError, UsageError
from holdfast.runtime.kernel.clock import sleep_s
from holdfast.views.durations import clock
from holdfast.views.job import JobView

EVERY: Final = "500ms"
SHORTEST_S: Final = 0.05
LONGEST_S: Final = 3_600.0
PAGE: Final = 200
_ROOM_FOR_HEADINGS: Final = 3

Read = Callable[[], list[JobView]]


@click.command("watch", cls=Command, example="holdfast jobs watch --pipeline digest")
@click.argument("job_ids", metavar="[ID]...", nargs=-1)
@filter_options
@click.option("--every", type=duration, default=EVERY, show_default=True, help="How often to look.")
@pass_invocation
def watch_jobs(invocation: Invocation, job_ids: Sequence[str], wanted: Filter, every: float) -> int:
    """Follow jobs: those named until all have ended, or those that match until interrupted.

    Exits with 1 when a named job ended other than complete.
    """
    if job_ids and wanted:
        raise UsageError("name jobs by id, or give a filter, not both")
    engine = invocation.engine()
    if job_ids:
        ids = [engine.job(job_id).job.id for job_id in dict.fromkeys(job_ids)]
        read: Read = lambda: _named(engine, ids)  # noqa: E731 - one of two ways to read
    else:
        read = lambda: engine.labelled(  # noqa: E731
            engine.jobs(wanted.at(engine.clock.now()), limit=PAGE)
        )
    return follow(invocation.output, read, every_s=min(every, LONGEST_S), to_the_end=bool(job_ids))


def follow(output: Output, read: Read, *, every_s: float, to_the_end: bool) -> ExitCode:
    """Show what `read` returns again and again; `to_the_end` of all of them, or forever."""
    with _Live(output) if output.live else _Lines(output) as shown:
        views = read()
        shown.show(views)
        while not to_the_end or any(view.state not in ENDED for view in views):
            sleep_s(max(every_s, SHORTEST_S))
            try:
                views = read()
            except UnavailableError as error:
                shown.interrupted(error)
            else:
                shown.show(views)
    complete = all(view.state is JobState.COMPLETE for view in views)
    return ExitCode.OK if complete else ExitCode.FAILED


def _named(engine: Holdfast, ids: Sequence[JobId]) -> list[JobView]:
    found, now = engine.store.get(ids), engine.clock.now()
    return engine.labelled([JobView(found[job_id], now) for job_id in ids if job_id in found])


class _Lines:
    """A line for every change."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._told: dict[str, tuple[int, str]] = {}
        self._away = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, views: Sequence[JobView]) -> None:
        """Print what is new since the last time, the oldest job first."""
        self._away = False
        told, self._told = self._told, {}
        for view in reversed(views):
            seen = self._told[view.id] = (view.job.revision, view.label)
            if told.get(view.id) == seen:
                continue
            if self._output.as_json:
                self._output.document(view.to_document())
            else:
                self._output.line(
                    f"{clock(view.read_at)[11:19]}  {view.id}  {view.label:<10}  "
                    f"{view.job.stage}  attempt {view.job.attempt}  {remark_of(view)}".rstrip()
                )

    def interrupted(self, error: UnavailableError) -> None:
        """Say once that the store cannot be reached."""
        if not self._away:
            self._output.remark(f"{error} (watching goes on)")
        self._away = True


class _Live:
    """A table that is drawn again and again in place."""

    def __init__(self, output: Output) -> None:
        from rich.live import Live  # noqa: PLC0415 - only on a terminal

        self._output = output
        self._live = Live(console=output.console, auto_refresh=False, vertical_overflow="crop")
        self._views: Sequence[JobView] = ()

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, views: Sequence[JobView], note: str = "") -> None:
        """Draw the jobs that fit."""
        from rich.console import Group  # noqa: PLC0415 - only on a terminal
        from rich.text import Text  # noqa: PLC0415 - only on a terminal

        self._views = views
        room = max(self._output.console.height - _ROOM_FOR_HEADINGS, 1)
        table = self._output.table_of(COLUMNS, map(row_of, views[:room]))
        hidden = len(views) - room
        below = note or (f"and {hidden} more" if hidden > 0 else "")
        self._live.update(Group(table, Text(below, style="dim")) if below else table, refresh=True)

    def interrupted(self, error: UnavailableError) -> None:
        """Keep what was last seen, and say that it is old."""
        self.show(self._views, note=f"{error} (watching goes on)")
