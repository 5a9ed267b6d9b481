"""`holdfast dead replay`: letters by id, or a whole group behind a canary and at a rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from holdfast.cli.dead_letters.files import letter_files
from holdfast.cli.dead_letters.group_replay import GroupReplay, Terms
from holdfast.cli.dead_letters.named_letters import each_letter
from holdfast.cli.dead_letters.options import LetterChoice, letter_filter_options
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.program import Command
from holdfast.core.dead_letter.dead_letter import FILE, Cause
from holdfast.core.values.instant import Instant
from holdfast.engine.app import Holdfast
from holdfast.engine.dead_letters.replay_terms import (
    DEFAULT_CANARY,
    DEFAULT_RATE,
    DEFAULT_STOP_AFTER,
    MAX_LETTERS,
    MAX_PER_SECOND,
)
from holdfast.errors import UsageError
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.views.dead_letter import LetterView

_EPILOG: Final = """\b
Exit codes of a replay of many:
  0  every job that was sent back completed
  1  stopped, cancelled or answered with no; or some jobs failed again
  4  none of the letters can be replayed
Broken off, it goes on with --resume, run by anybody and anywhere.
"""


@click.command(
    "replay",
    cls=Command,
    example='holdfast dead replay --group 3f2a91c0d4e5 --cause transient --evidence "deploy 42"',
    epilog=_EPILOG,
)
@click.argument("letter_ids", metavar="[ID]...", nargs=-1)
@letter_filter_options
@click.option("--preview", is_flag=True, help="Only tell what would be sent and what not.")
@click.option(
    "--canary",
    type=click.IntRange(0, MAX_LETTERS),
    help=f"So many have to complete before the rest is sent.  [default: {DEFAULT_CANARY}]",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, MAX_PER_SECOND),
    help=f"Letters a second; 0 for as fast as can be.  [default: {DEFAULT_RATE:g}]",
)
@click.option(
    "--stop-after",
    type=click.IntRange(0, MAX_LETTERS),
    help=f"Stop once so many jobs failed again; 0 for never.  [default: {DEFAULT_STOP_AFTER}]",
)
@click.option("--name", type=text, help="What to call it, such as the incident.")
@click.option("--resume", metavar="REPLAY", help="Go on with a replay that was broken off.")
@click.option("--from-start", is_flag=True, help="From the first stage, not from the failed one.")
@click.option(
    "--safe-to-repeat",
    is_flag=True,
    help="Jobs without an idempotency key may be repeated without harm.",
)
@click.option(
    "--cause",
    type=click.Choice([cause.value for cause in Cause]),
    help="Triage those of a group that have yet to be.",
)
@click.option("--evidence", help="And remediate them: how it is known that the cause is gone.")
@click.option("--reason", help="Why; kept in the history of every job.")
@by_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_invocation
def replay_letters(
    invocation: Invocation,
    *,
    letter_ids: Sequence[str],
    wanted: LetterChoice,
    canary: int | None,
    rate: float | None,
    stop_after: int | None,
    name: str | None,
    resume: str | None,
    cause: str | None,
    evidence: str | None,
    reason: str | None,
    by: str | None,
    preview: bool,
    from_start: bool,
    safe_to_repeat: bool,
    yes: bool,
) -> int:
    """Send remediated dead letters back: those named, or all of a group.

    A job goes on at the stage that failed. Of a group the list is frozen, the oldest letters
    first. A few are sent and have to complete, then the rest is sent at a rate, and nothing more
    once too many have failed again. Each letter leads to one run, however often the replay is
    broken off and resumed. Workers have to run elsewhere.

    A letter that came from a file has no job here: with --pipeline, which then says where to, it
    is submitted as a new one under its own id as the key, so that twice makes one job.
    """
    who = by or os_user()
    terms = Terms(
        by=who,
        reason=reason,
        name=name,
        canary=canary,
        rate=rate,
        stop_after=stop_after,
        from_start=from_start,
        safe_to_repeat=safe_to_repeat,
        cause=cause,
        evidence=evidence,
    )
    # Only what is submitted anew needs the pipelines.
    submits = bool(letter_ids) and wanted.at(Instant(0)).pipeline is not None
    engine = invocation.application() if submits else invocation.engine()
    group = GroupReplay(invocation.output, engine)
    if resume is not None:
        if letter_ids or wanted or preview or terms.is_for_a_group:
            raise UsageError("a replay is resumed on the terms it was started with")
        return group.resume(resume)
    chosen = wanted.at(engine.clock.now())
    if not letter_ids:
        if not wanted:
            raise UsageError("say which letters to replay: ids, --group or another filter")
        if not wanted.states:
            chosen = chosen._replace(states=())
        return group.run(chosen, terms, preview=preview, yes=yes)
    if preview or terms.is_for_a_group:
        raise UsageError("a preview, a canary, a rate and a stop rule are for a group of letters")
    send = _Replay(engine, terms, _only_pipeline(chosen, wanted))
    return each_letter(invocation.output, letter_ids, send)


def _only_pipeline(chosen: LetterFilter, wanted: LetterChoice) -> str | None:
    """Return where letters named by id go; other options of the filter make no sense for them."""
    if wanted.states or any(value is not None for value in chosen[2:]):
        raise UsageError("name letters by id, or give a filter, not both")
    return chosen.pipeline


class _Replay:
    """Sends one letter back, or submits one that came from a file."""

    def __init__(self, engine: Holdfast, terms: Terms, pipeline: str | None) -> None:
        self._engine = engine
        self._terms = terms
        self._pipeline = pipeline

    def __call__(self, letter_id: str) -> LetterView:
        terms, dead = self._terms, self._engine.dead
        from_file = dead.get(letter_id).letter.kind == FILE
        if from_file and self._pipeline is not None:
            files = letter_files(self._engine)
            files.replay(letter_id, self._pipeline, by=terms.by, reason=terms.reason)
            return dead.get(letter_id)
        if from_file:
            raise UsageError(
                f"dead letter {letter_id} came from a file; say where it goes: --pipeline NAME"
            )
        if self._pipeline is not None:
            raise UsageError(
                "--pipeline says where a letter from a file goes, and no other; leave it out"
            )
        return dead.replay(
            letter_id,
            by=terms.by,
            reason=terms.reason,
            from_start=terms.from_start,
            confirm_idempotent=terms.safe_to_repeat,
        )
