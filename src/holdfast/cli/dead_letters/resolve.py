"""`holdfast dead resolve`: letters by id, or all of a filter that can be closed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import click

from holdfast.cli.dead_letters.named_letters import each_letter
from holdfast.cli.dead_letters.options import LetterChoice, letter_filter_options
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.progress import Progress
from holdfast.core.dead_letter.dead_letter import Standing
from holdfast.engine.app import Holdfast
from holdfast.errors import ConflictError, UnavailableError, UsageError
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.views.dead_letter import LetterView

_PAGE: Final = 500


@click.command(
    "resolve",
    cls=Command,
    example='holdfast dead resolve --group 3f2a91c0d4e5 --note "INC-7 is over"',
)
@click.argument("letter_ids", metavar="[ID]...", nargs=-1)
@letter_filter_options
@click.option("--note", required=True, help="How it ended.")
@click.option(
    "--unreplayed", is_flag=True, help="Close them although their jobs never completed: dismiss."
)
@by_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_invocation
def resolve_letters(
    invocation: Invocation,
    *,
    letter_ids: Sequence[str],
    wanted: LetterChoice,
    note: str,
    by: str | None,
    unreplayed: bool,
    yes: bool,
) -> int:
    """Close dead letters whose replayed jobs are complete: those named, or all of a group.

    Without a replay they are closed only with --unreplayed, and the audit log says that they were
    dismissed. Of a group, letters that cannot be closed yet are passed over.
    """
    engine, who = invocation.engine(), by or os_user()

    def resolve(letter_id: str) -> LetterView:
        return engine.dead.resolve(letter_id, note=note, by=who, unreplayed=unreplayed)

    if letter_ids:
        if wanted:
            raise UsageError("name letters by id, or give a filter, not both")
        return each_letter(invocation.output, letter_ids, resolve)
    if not wanted:
        raise UsageError("say which letters to resolve: ids, --group or another filter")
    chosen = wanted.at(engine.clock.now())
    closable = _Closable(invocation.output, engine, unreplayed=unreplayed)
    return closable.run(chosen, resolve, yes=yes)


class _Closable:
    """The letters of a filter that can be closed now."""

    def __init__(self, output: Output, engine: Holdfast, *, unreplayed: bool) -> None:
        self._output = output
        self._engine = engine
        self._allowed = (
            set(Standing) - {Standing.REPLAYING, Standing.RESOLVED}
            if unreplayed
            else {Standing.VERIFIED}
        )

    def run(
        self, wanted: LetterFilter, resolve: Callable[[str], LetterView], *, yes: bool
    ) -> ExitCode:
        """Look, ask, and close what can be closed; what moves meanwhile is passed over."""
        matched, ids = self._look(wanted)
        if not ids:
            return self._told(matched, 0)
        if not self._agreed(matched, len(ids), yes=yes):
            return ExitCode.FAILED
        closed = 0
        with Progress(self._output, "Closing", total=len(ids)) as progress:
            for letter_id in ids:
                try:
                    resolve(letter_id)
                except ConflictError:
                    continue
                except UnavailableError:
                    self._output.remark(f"{closed} closed so far; run it again for the rest.")
                    raise
                finally:
                    progress.advance(1)
                closed += 1
        return self._told(matched, closed)

    def _look(self, wanted: LetterFilter) -> tuple[int, list[str]]:
        """Return how many letters match, and which of them can be closed."""
        matched, ids = 0, []
        for view in self._matching(wanted):
            matched += 1
            if view.standing in self._allowed:
                ids.append(view.id)
        return matched, ids

    def _matching(self, wanted: LetterFilter) -> Iterator[LetterView]:
        before = None
        while True:
            page = self._engine.dead.find(wanted, before=before, limit=_PAGE)
            yield from page
            if len(page) < _PAGE:
                return
            before = page[-1].id

    def _agreed(self, matched: int, count: int, *, yes: bool) -> bool:
        others = f", {matched - count} that match cannot be yet" if count < matched else ""
        question = f"{_letters(count)} will be closed{others}."
        if yes:
            self._output.remark(question)
            return True
        if self._output.as_json or not sys.stdin.isatty():
            raise UsageError(f"{question} Say --yes to do it")
        if click.confirm(f"{question} Go on?", err=True):
            return True
        self._output.remark("Nothing was changed.")
        return False

    def _told(self, matched: int, closed: int) -> ExitCode:
        if self._output.as_json:
            self._output.document({"matched": matched, "changed": closed})
        elif not matched:
            self._output.line("No dead letters match.")
        else:
            left = f"; {matched - closed} cannot be yet" if closed < matched else ""
            self._output.line(f"{_letters(closed)} closed{left}.")
        return ExitCode.REFUSED if matched and not closed else ExitCode.OK


def _letters(count: int) -> str:
    return "1 letter" if count == 1 else f"{count} letters"
