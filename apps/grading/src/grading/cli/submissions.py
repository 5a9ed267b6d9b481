"""`grading submit`, `status`, `watch`, `list`, `questions`, `cancel` and `retry`."""

from __future__ import annotations

import getpass
import time
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from grading.cli.opening import Opened, opened
from grading.cli.output import (
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    remark,
    reports_errors,
    table,
)
from grading.cli.results import print_result
from grading.main.submissions import Wanted
from grading.main.views.view import SubmissionView, time_text
from grading.questions import packaged
from grading.states import Skill, Status

LOOK_S: Final = 0.25
MAX_LISTED: Final = 200
_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_ENDED_WELL: Final = (Status.COMPLETED, Status.REVIEW_REQUIRED)


@click.command()
@click.argument("file", required=False, type=_FILE)
@click.option(
    "--audio",
    type=_FILE,
    help="A recording, for a speaking question.",
)
@click.option("--question", required=True, metavar="ID", help="What it answers: grading questions.")
@click.option("--key", metavar="TEXT", help="The same key hands the same answer in only once.")
@click.option("--owner", default="", help="Whose submission it is. [default: nobody's]")
@click.option("--wait", is_flag=True, help="Wait until it is graded, and print the result.")
@json_option
@reports_errors
def submit(
    *,
    file: Path | None,
    audio: Path | None,
    question: str,
    key: str | None,
    owner: str,
    wait: bool,
    as_json: bool,
) -> None:
    """Hand in the essay in FILE, or a recording with --audio.

    The submission is stored when this returns; `holdfast up` publishes it.

    Example: grading submit essay.txt --question w2-tourism --wait
    """
    if (file is None) == (audio is None):
        raise click.UsageError("give an essay as FILE or a recording with --audio, one of them")
    with opened() as system:
        made = system.submissions.submit(
            _wanted(system, file=file, audio=audio, question=question, owner=owner),
            owner=owner,
            key=key,
        )
        if wait:
            view = _followed(system, made.view.submission_id, quiet=as_json)
            _finish(view, as_json=as_json)
        if as_json:
            document(made.view.document() | {"created": made.created})
        else:
            line(made.view.submission_id)
            remark("stored" if made.created else "was handed in before under this key")


def _wanted(
    system: Opened, *, file: Path | None, audio: Path | None, question: str, owner: str
) -> Wanted:
    if file is not None:
        text = file.read_text(encoding="utf-8", errors="replace")
        return Wanted(skill=Skill.WRITING, question_id=question, text=text)
    if audio is None:
        raise AssertionError("one of the two is given")
    kept = system.keep_audio(audio, owner=owner)
    return Wanted(
        skill=Skill.SPEAKING,
        question_id=question,
        audio_url=kept.url,
        duration_s=kept.seconds,
    )


@click.command()
@click.argument("submission_id")
@json_option
@reports_errors
def status(*, submission_id: str, as_json: bool) -> None:
    """Show how far a submission has come."""
    with opened() as system:
        view = system.submissions.get(submission_id, owner=None)
        if as_json:
            document(view.document(answer=False, for_teacher=True))
            return
        _print_status(view)
        for entry in system.submissions.history(submission_id, owner=None):
            line(f"  {time_text(entry.at)}  {entry.text}")
        if view.result is not None:
            line()
            print_result(view.result)


@click.command()
@click.argument("submission_id")
@json_option
@reports_errors
def watch(*, submission_id: str, as_json: bool) -> None:
    """Follow a submission until it has ended; with --json a line for every change."""
    with opened() as system:
        if not as_json:
            _finish(_followed(system, submission_id, quiet=False), as_json=False)
        last: dict[str, Any] | None = None
        while True:
            view = system.submissions.get(submission_id, owner=None)
            shown = view.status_document()
            if shown != last:
                document(shown)
                last = shown
            if view.has_ended:
                exit_with(_code_of(view))
            time.sleep(LOOK_S)


@click.command("list")
@click.option("--skill", type=click.Choice([each.value for each in Skill]))
@click.option("--status", "wanted", type=click.Choice([each.value for each in Status]))
@click.option("--owner", help="Of this owner alone.")
@click.option("--limit", type=click.IntRange(1, MAX_LISTED), default=20, show_default=True)
@click.option("--cursor", help="Where the last page ended.")
@json_option
@reports_errors
def list_(
    *,
    skill: str | None,
    wanted: str | None,
    owner: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
) -> None:
    """List submissions, newest first."""
    with opened() as system:
        page = system.submissions.list(
            owner=owner,
            skill=None if skill is None else Skill(skill),
            status=None if wanted is None else Status(wanted),
            limit=limit,
            cursor=cursor,
        )
    if as_json:
        document(page.document())
        return
    table(
        ("SUBMISSION", "SKILL", "QUESTION", "STATUS", "SCORE", "CREATED", "DEADLINE"),
        (
            (
                view.submission_id,
                view.skill,
                view.question_id,
                _standing(view),
                (view.result or {}).get("overallScore"),
                time_text(view.created_at),
                time_text(view.deadline_at),
            )
            for view in page.items
        ),
    )
    if page.next_cursor is not None:
        remark(f"more with --cursor {page.next_cursor}")


@click.command()
@click.option("--skill", type=click.Choice([each.value for each in Skill]))
@json_option
@reports_errors
def questions(*, skill: str | None, as_json: bool) -> None:
    """List the questions that can be answered."""
    found = packaged().all(None if skill is None else Skill(skill))
    if as_json:
        document([question.to_document() for question in found])
        return
    table(
        ("QUESTION", "SKILL", "PART", "WORDS", "TITLE"),
        (
            (each.id, each.skill, each.number, each.minimum_words or "", each.title)
            for each in found
        ),
    )


@click.command()
@click.argument("submission_id")
@json_option
@reports_errors
def cancel(*, submission_id: str, as_json: bool) -> None:
    """End a submission that is not graded yet."""
    with opened() as system:
        view = system.submissions.cancel(submission_id, owner=None, by=getpass.getuser())
    _print_changed(view, as_json=as_json)


@click.command()
@click.argument("submission_id")
@json_option
@reports_errors
def retry(*, submission_id: str, as_json: bool) -> None:
    """Start a failed submission over, with a new deadline; what was paid for is not paid again."""
    with opened() as system:
        view = system.submissions.retry(submission_id, by=getpass.getuser())
    _print_changed(view, as_json=as_json)


def _print_changed(view: SubmissionView, *, as_json: bool) -> None:
    if as_json:
        document(view.status_document())
    else:
        _print_status(view)


def _followed(system: Opened, submission_id: str, *, quiet: bool) -> SubmissionView:
    """Return the submission once it has ended, showing its steps meanwhile."""
    view = system.submissions.get(submission_id, owner=None)
    if quiet:
        while not view.has_ended:
            time.sleep(LOOK_S)
            view = system.submissions.get(submission_id, owner=None)
        return view
    with Console(stderr=True).status("") as shown:
        while not view.has_ended:
            shown.update(_standing(view))
            time.sleep(LOOK_S)
            view = system.submissions.get(submission_id, owner=None)
    return view


def _finish(view: SubmissionView, *, as_json: bool) -> None:
    """Print how it ended, and end the command by it."""
    if as_json:
        document(view.document(answer=False, for_teacher=True))
    else:
        _print_status(view)
        if view.result is not None:
            print_result(view.result)
    exit_with(_code_of(view))


def _code_of(view: SubmissionView) -> ExitCode:
    return ExitCode.OK if view.status in _ENDED_WELL else ExitCode.FAILED


def _standing(view: SubmissionView) -> str:
    if view.status is Status.FAILED:
        late = ", a result came late" if view.is_late else ""
        return f"{view.status} ({view.failure_reason}{late})"
    if view.step is None:
        return view.status.value
    share = "" if view.progress is None else f" {view.progress:.0%}"
    return f"{view.status} ({view.step}{share})"


def _print_status(view: SubmissionView) -> None:
    line(f"{view.submission_id}  {_standing(view)}", style="bold")
    line(f"  {view.skill}, {view.question_id}, attempt {view.attempt}")
    line(f"  deadline {time_text(view.deadline_at)}")
    if view.last_error:
        line(f"  {view.last_error}")
