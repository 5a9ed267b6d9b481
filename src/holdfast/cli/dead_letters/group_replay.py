"""A replay of many letters on the command line: looked at, agreed to, watched to its end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.progress import Progress
from holdfast.core.dead_letter.replay import Counts, ReplayState
from holdfast.engine.app import Holdfast
from holdfast.engine.dead_letters.replay_terms import (
    DEFAULT_CANARY,
    DEFAULT_RATE,
    DEFAULT_STOP_AFTER,
)
from holdfast.errors import UnavailableError, UsageError
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.views.explain.replay import progress_of
from holdfast.views.replay import Preview, ReplayView


class Terms(NamedTuple):
    """How letters are to be replayed, as the options say; None where nothing was said."""

    by: str
    reason: str | None
    name: str | None
    canary: int | None
    rate: float | None
    stop_after: int | None
    from_start: bool
    safe_to_repeat: bool
    cause: str | None
    evidence: str | None

    @property
    def is_for_a_group(self) -> bool:
        """Whether something was said that makes sense for many letters only."""
        said = (self.name, self.canary, self.rate, self.stop_after, self.cause, self.evidence)
        return any(value is not None for value in said)


class GroupReplay:
    """Replays of many, and what is shown of them."""

    def __init__(self, output: Output, engine: Holdfast) -> None:
        self._output = output
        self._engine = engine

    def run(self, wanted: LetterFilter, terms: Terms, *, preview: bool, yes: bool) -> ExitCode:
        """Look, ask, and replay what matches."""
        found = self._engine.replays.preview(
            wanted, confirm_idempotent=terms.safe_to_repeat, readied=terms.evidence is not None
        )
        if preview or not found.ready:
            self._tell_preview(found)
            return ExitCode.OK if preview or not found.letters else ExitCode.REFUSED
        if not self._agreed(found, terms, yes=yes):
            return ExitCode.FAILED
        started = self._engine.replays.start(
            terms.name or _name_of(found),
            wanted,
            by=terms.by,
            reason=terms.reason,
            canary=_or(terms.canary, DEFAULT_CANARY),
            rate=_or(terms.rate, DEFAULT_RATE) or None,
            stop_after=_or(terms.stop_after, DEFAULT_STOP_AFTER) or None,
            from_start=terms.from_start,
            confirm_idempotent=terms.safe_to_repeat,
            cause=terms.cause,
            evidence=terms.evidence,
        )
        self._output.remark(f"Replay {started.id}: {started.replay.name}.")
        return self._watch(started)

    def resume(self, replay_id: str) -> ExitCode:
        """Go on with a replay."""
        view = self._engine.replays.show(replay_id)
        self._output.remark(f"Replay {view.id}: {view.replay.name}, {progress_of(view.counts)}.")
        return self._watch(view)

    def _watch(self, view: ReplayView) -> ExitCode:
        told, state = _over(view.counts), view.state
        with Progress(self._output, "Replaying", total=view.counts.total) as progress:
            progress.advance(told)

            def tell(seen: ReplayView) -> None:
                nonlocal told, state
                progress.advance(_over(seen.counts) - told)
                told = _over(seen.counts)
                if seen.state is not state and seen.state is ReplayState.CANARY:
                    with progress.out_of_the_way():
                        self._output.remark(_canary_remark(seen.replay.canary))
                state = seen.state

            try:
                ended = self._engine.replays.resume(view.id, on_progress=tell)
            except (KeyboardInterrupt, UnavailableError):
                with progress.out_of_the_way():
                    self._output.remark(
                        f"Broken off. To go on: holdfast dead replay --resume {view.id}"
                    )
                raise
        return self._summary(ended)

    def _summary(self, view: ReplayView) -> ExitCode:
        counts = view.counts
        well = view.state is ReplayState.DONE and not counts.failed_again and not counts.cancelled
        if self._output.as_json:
            self._output.document(view.to_document())
        else:
            why = f" ({view.replay.note})" if view.replay.note else ""
            self._output.line(f"Replay {view.id} is {view.state}{why}: {progress_of(counts)}.")
            if counts.failed_again:
                self._output.remark("Those that failed again are dead letters as before.")
        return ExitCode.OK if well else ExitCode.FAILED

    def _tell_preview(self, found: Preview) -> None:
        if self._output.as_json:
            self._output.document(found.to_document())
            return
        if not found.letters:
            self._output.line("No dead letters match.")
            return
        self._output.line(f"{found.ready} of {_letters(found.letters)} would be replayed.")
        for title, counts in (
            ("Error classes", found.error_classes),
            ("Pipelines", found.pipelines),
            ("Stages", found.stages),
            ("Not replayed", found.skipped),
        ):
            self._tell_counts(title, counts)
        if found.first:
            self._output.heading("First")
            self._output.facts(
                (
                    letter.id,
                    f"{letter.error_class} in {letter.stage}: {_first_line(letter.message)}",
                )
                for letter in found.first
            )

    def _tell_counts(self, title: str, counts: Mapping[str, int]) -> None:
        if counts:
            self._output.heading(title)
            self._output.facts((str(count), name) for name, count in counts.items())

    def _agreed(self, found: Preview, terms: Terms, *, yes: bool) -> bool:
        question = f"{_letters(found.ready)} will be replayed{_passed_over(found)}."
        if yes:
            self._output.remark(question)
            return True
        if self._output.as_json or not sys.stdin.isatty():
            raise UsageError(f"{question} Say --yes to do it, or --preview to only look")
        self._output.remark(_plan(terms))
        if click.confirm(f"{question} Go on?", err=True):
            return True
        self._output.remark("Nothing was changed.")
        return False


def _or(given: Any, default: Any) -> Any:  # noqa: ANN401 - numbers of one kind or the other
    return default if given is None else given


def _over(counts: Counts) -> int:
    return counts.succeeded + counts.failed_again + counts.cancelled + counts.skipped


def _name_of(found: Preview) -> str:
    """Return what a replay is called that nobody gave a name: by what most of its letters have."""
    return f"{next(iter(found.error_classes))} in {next(iter(found.stages))}"


def _plan(terms: Terms) -> str:
    canary, rate = _or(terms.canary, DEFAULT_CANARY), _or(terms.rate, DEFAULT_RATE)
    stop_after = _or(terms.stop_after, DEFAULT_STOP_AFTER)
    parts = [
        f"{canary} first, the rest once {'it has' if canary == 1 else 'they have'} completed"
        if canary
        else "no canary",
        f"{rate:g} a second" if rate else "as fast as can be",
        f"stopping when {stop_after} failed again" if stop_after else "never stopping",
    ]
    return f"{', '.join(parts)}."


def _canary_remark(canary: int) -> str:
    return (
        f"Sending {_letters(canary)} first; the rest waits for {'it' if canary == 1 else 'them'}."
    )


def _passed_over(found: Preview) -> str:
    others = found.letters - found.ready
    return f", {others} that match will not" if others else ""


def _letters(count: int) -> str:
    return "1 letter" if count == 1 else f"{count} letters"


def _first_line(message: str) -> str:
    return message.partition("\n")[0]
