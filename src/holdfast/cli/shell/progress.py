"""Progress of long work: a bar where a person watches, a plain line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from holdfast.cli.shell.output import Output
from holdfast.runtime.kernel.clock import monotonic_s

LINE_EVERY_S: Final = 5.0


class Progress:
    """Counts towards `total`, or without end when there is none. Everything goes to stderr."""

    def __init__(self, output: Output, title: str, *, total: int | None) -> None:
        self._output = output
        self._title = title
        self._total = total
        self._done = 0
        self._said_at_s = monotonic_s()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._output.error_console.is_terminal and not self._output.as_json:
            from rich import progress  # noqa: PLC0415 - only when a bar is drawn

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeRemainingColumn(),
                console=self._output.error_console,
                transient=True,
                # Data goes to stdout as it is, whatever is drawn on stderr.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task(self._title, total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @contextmanager
    def out_of_the_way(self) -> Iterator[None]:
        """Take the bar away while lines are printed on the same terminal."""
        if self._bar is None:
            yield
            return
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def advance(self, count: int) -> None:
        """Tell that `count` more are done."""
        self._done += count
        if self._bar is not None:
            self._bar.update(self._task, advance=count)
        elif monotonic_s() - self._said_at_s >= LINE_EVERY_S:
            self._said_at_s = monotonic_s()
            of_total = "" if self._total is None else f" of {self._total}"
            self._output.remark(f"{self._title}: {self._done}{of_total}")
