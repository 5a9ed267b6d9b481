"""`holdfast jobs retry` and `cancel`: by id, or all that match a filter."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import click

from holdfast.cli.shell.complaint import complain, document_of
from holdfast.cli.shell.exit_codes import ExitCode, code_of
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import Filter, by_option, filter_options, text
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.progress import Progress
from holdfast.core.job.access import RetryBy
from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.engine.app import Holdfast
from holdfast.engine.jobs.access import Obstacle
from holdfast.engine.jobs.changes import Chunk
from holdfast.errors import ConflictError, HoldfastError, UnavailableError, UsageError
from holdfast.store.contract import JobFilter
from holdfast.views.job import JobView

CHUNK: Final = 500
MANY: Final = 100
"""More jobs than this are cancelled only with their number given."""

One = Callable[[str], JobView]
Many = Callable[[JobFilter, str | None], Chunk]


def _verb_options(command: Callable[..., object]) -> Callable[..., object]:
    for option in (
        click.option("--reason", type=text, help="Why; kept in the job's history."),
        by_option,
        click.option("--dry-run", is_flag=True, help="Only count the jobs that match."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
        filter_options,
        click.argument("job_ids", metavar="[ID]...", nargs=-1),
    ):
        command = option(command)
    return command


@click.command(
    "retry",
    cls=Command,
    example='holdfast jobs retry --state failed --since 2h --reason "the gateway is back"',
)
@_verb_options
@click.option("--all", "everything", is_flag=True, help="Every job that has failed.")
@click.option("--from-start", is_flag=True, help="From the first stage, not from the failed one.")
@pass_invocation
def retry_jobs(
    invocation: Invocation,
    job_ids: Sequence[str],
    wanted: Filter,
    by: str | None,
    reason: str | None,
    *,
    from_start: bool,
    everything: bool,
    yes: bool,
    dry_run: bool,
) -> int:
    """Send failed jobs back: those named, or all that match the filter.

    A job goes on at the stage that failed, with a new budget of attempts; the results of the
    stages before it are kept.
    """
    engine, who = invocation.engine(), by or os_user()
    verb = Verb(
        invocation.output,
        engine,
        name="retry",
        done="sent back",
        states=(JobState.FAILED,),
        one=lambda job_id: engine.retry(job_id, by=who, reason=reason, from_start=from_start),
        many=lambda matching, before: engine.retry_many(
            matching, by=who, reason=reason, from_start=from_start, before=before, limit=CHUNK
        ),
        check=lambda pipeline: engine.access.check_retry(pipeline, RetryBy.OPERATOR),
        obstacle=engine.access.retry_obstacles(RetryBy.OPERATOR),
    )
    return verb.run(job_ids, wanted, everything=everything, yes=yes, dry_run=dry_run)


@click.command(
    "cancel",
    cls=Command,
    example='holdfast jobs cancel --pipeline digest --state queued --reason "sent by mistake"',
)
@_verb_options
@click.option(
    "--confirm-count",
    type=click.IntRange(1),
    metavar="N",
    help=f"How many jobs match, which has to be said for more than {MANY}.",
)
@pass_invocation
def cancel_jobs(
    invocation: Invocation,
    job_ids: Sequence[str],
    wanted: Filter,
    by: str | None,
    reason: str | None,
    *,
    confirm_count: int | None,
    yes: bool,
    dry_run: bool,
) -> int:
    """End jobs that have not ended: those named, or all that match the filter.

    A handler that runs is stopped, and what it may still return is refused. Above 100 jobs their
    number has to be typed in, or given with --confirm-count.
    """
    engine, who = invocation.engine(), by or os_user()
    verb = Verb(
        invocation.output,
        engine,
        name="cancel",
        done="cancelled",
        states=tuple(state for state in JobState if state in ACTIVE),
        one=lambda job_id: engine.cancel(job_id, by=who, reason=reason),
        many=lambda matching, before: engine.cancel_many(
            matching, by=who, reason=reason, before=before, limit=CHUNK
        ),
        counted=True,
        confirm_count=confirm_count,
    )
    return verb.run(job_ids, wanted, everything=False, yes=yes, dry_run=dry_run)


class Verb:
    """Something done to jobs that are in certain states."""

    def __init__(
        self,
        output: Output,
        engine: Holdfast,
        *,
        name: str,
        done: str,
        states: tuple[JobState, ...],
        one: One,
        many: Many,
        check: Callable[[str], None] = lambda _pipeline: None,
        obstacle: Callable[[Job], Obstacle | None] = lambda _job: None,
        counted: bool = False,
        confirm_count: int | None = None,
    ) -> None:
        self._output = output
        self._engine = engine
        self._name = name
        self._done = done
        self._states = states
        self._one = one
        self._many = many
        self._check = check
        self._obstacle = obstacle
        self._counted = counted
        self._confirm_count = confirm_count

    def run(
        self,
        job_ids: Sequence[str],
        wanted: Filter,
        *,
        everything: bool,
        yes: bool,
        dry_run: bool,
    ) -> ExitCode:
        """Do it to the jobs named, or to those that match."""
        if job_ids:
            if wanted or everything:
                raise UsageError("name jobs by id, or give a filter, not both")
            return self._named(job_ids, dry_run=dry_run)
        if not wanted and not everything:
            others = " such as --pipeline" if self._counted else " such as --pipeline, or --all"
            raise UsageError(f"say which jobs to {self._name}: ids, or a filter{others}")
        return self._matching(self._filter(wanted), yes=yes, dry_run=dry_run)

    def _named(self, job_ids: Sequence[str], *, dry_run: bool) -> ExitCode:
        codes: list[ExitCode] = []
        for job_id in dict.fromkeys(job_ids):
            try:
                view = self._engine.job(job_id) if dry_run else self._one(job_id)
            except UnavailableError:
                raise
            except HoldfastError as error:
                codes.append(code_of(error))
                if len(job_ids) == 1:
                    raise
                if self._output.as_json:
                    failed = document_of(error, codes[-1])
                    self._output.document({"id": job_id, "changed": False, "error": failed})
                else:
                    complain(error, exit_code=codes[-1], as_json=False)
            else:
                codes.append(self._tell(view, dry_run=dry_run))
        refused = {code for code in codes if code is not ExitCode.OK}
        if not refused:
            return ExitCode.OK
        return refused.pop() if refused == set(codes) and len(refused) == 1 else ExitCode.FAILED

    def _tell(self, view: JobView, *, dry_run: bool) -> ExitCode:
        obstacle = self._obstacle(view.job) if dry_run and view.state in self._states else None
        allowed = view.state in self._states and obstacle is None
        if self._output.as_json:
            document = {"id": view.id, "state": view.state.value, "stage": view.job.stage}
            if dry_run:
                why = None if obstacle is None else obstacle.reason
                outcome = {"changed": False, "would_change": allowed, "refused": why}
                self._output.document({**document, **outcome})
            else:
                self._output.document({**document, "changed": True})
        elif not dry_run:
            now = "" if view.label == self._done else f", now {view.label}"
            self._output.line(f"{view.id}  {self._done}{now}")
        else:
            would = "would be" if allowed else f"is {view.state.value} and would not be"
            why = "" if obstacle is None else f": {obstacle.reason}"
            self._output.line(f"{view.id}  {would} {self._done}{why}")
        return ExitCode.OK if allowed or not dry_run else ExitCode.REFUSED

    def _filter(self, wanted: Filter) -> JobFilter:
        """Return what matches now; jobs made from here on are not meant."""
        now = self._engine.clock.now()
        matching = wanted.at(now)
        outside = [state.value for state in matching.states if state not in self._states]
        if outside:
            raise UsageError(
                f"--state {', '.join(outside)}: only {' or '.join(self._states)} jobs allow "
                f"{self._name}"
            )
        return matching._replace(
            states=matching.states or self._states,
            created_until=matching.created_until or now,
        )

    def _matching(self, matching: JobFilter, *, yes: bool, dry_run: bool) -> ExitCode:
        if matching.pipeline is not None:
            self._check(matching.pipeline)
        count, refused = self._count(matching, dry_run=dry_run)
        if dry_run or not count:
            return self._summary(count, 0, refused, dry_run=dry_run)
        if not self._agreed(count, yes=yes):
            return ExitCode.FAILED
        matched, changed = 0, 0
        before: str | None = None
        with Progress(self._output, self._done.capitalize(), total=count) as progress:
            while True:
                try:
                    chunk = self._many(matching, before)
                except UnavailableError:
                    self._output.remark(
                        f"{_jobs(changed)} {self._done} so far; run it again for the rest."
                    )
                    raise
                matched += chunk.matched
                changed += chunk.changed
                refused.update(chunk.refused)
                progress.advance(chunk.matched)
                before = chunk.before
                if before is None:
                    break
        return self._summary(matched, changed, refused, dry_run=False)

    def _count(self, matching: JobFilter, *, dry_run: bool) -> tuple[int, Counter[str]]:
        """Return how many jobs match, and with `dry_run` how many of them would be left alone."""
        count, before = 0, None
        refused: Counter[str] = Counter()
        with Progress(self._output, "Counting", total=None) as progress:
            while True:
                page = self._engine.store.find(matching, before=before, limit=CHUNK)
                count += len(page)
                found = map(self._obstacle, page if dry_run else ())
                refused.update(each.reason for each in found if each is not None)
                progress.advance(len(page))
                if len(page) < CHUNK:
                    return count, refused
                before = page[-1].id

    def _agreed(self, count: int, *, yes: bool) -> bool:
        question = f"{_jobs(count)} will be {self._done}."
        if self._confirm_count not in (None, count):
            raise ConflictError(
                f"{question} That is not the number that was confirmed, {self._confirm_count}; "
                "nothing was changed"
            )
        if self._counted and count > MANY and self._confirm_count is None:
            return self._typed(count, question)
        if yes:
            self._output.remark(question)
            return True
        if self._output.as_json or not sys.stdin.isatty():
            raise UsageError(f"{question} Say --yes to do it, or --dry-run to only count")
        if click.confirm(f"{question} Go on?", err=True):
            return True
        self._output.remark("Nothing was changed.")
        return False

    def _typed(self, count: int, question: str) -> bool:
        """Return whether a person has typed how many jobs it is about."""
        if self._output.as_json or not sys.stdin.isatty():
            raise UsageError(f"{question} Say --confirm-count {count} to do it")
        typed = click.prompt(f"{question} Type the number to go on", default="", err=True)
        if typed.strip() == str(count):
            return True
        self._output.remark("That is another number. Nothing was changed.")
        return False

    def _summary(
        self, matched: int, changed: int, refused: Counter[str], *, dry_run: bool
    ) -> ExitCode:
        if self._output.as_json:
            counts = {"matched": matched, "changed": changed, "refused": refused}
            self._output.document({**counts, "dry_run": dry_run})
            return ExitCode.OK
        left = refused.total()
        if not matched:
            self._output.line("No jobs match.")
        elif dry_run:
            self._output.line(f"{_jobs(matched - left)} would be {self._done}.")
        else:
            gone = matched - changed - left
            moved_on = f"; {gone} had moved on" if gone > 0 else ""
            self._output.line(f"{_jobs(changed)} {self._done}{moved_on}.")
        for reason, count in refused.most_common():
            would = " would be" if dry_run else ""
            self._output.line(f"{_jobs(count)}{would} left alone: {reason}")
        return ExitCode.OK


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
