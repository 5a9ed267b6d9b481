"""`holdfast jobs`: list and show; watching, retrying and cancelling are in files of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from holdfast.cli.jobs.bulk import cancel_jobs, retry_jobs
from holdfast.cli.jobs.history_table import print_history
from holdfast.cli.jobs.job_table import print_jobs, state_of
from holdfast.cli.jobs.watch import watch_jobs
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.options import Filter, filter_options
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.paging import limit_option, tell_next_page
from holdfast.cli.shell.program import Command, Group
from holdfast.core.job.job import DEFAULT_OWNER
from holdfast.engine.app import Holdfast
from holdfast.redaction.printable import json_text
from holdfast.secrecy import kept_value, private_value, without_names
from holdfast.views.disclosure import PublicError
from holdfast.views.durations import when
from holdfast.views.explain.job import situation
from holdfast.views.explain.retry import attempt_of
from holdfast.views.job import JobView

LONGEST_DOCUMENT: Final = 4_000
_WRITTEN_BY_OTHERS: Final = ("key", "payload", "result", "error", "late_result")
"""The fields of a job that may hold secrets and personal data."""


@click.group("jobs", cls=Group)
def jobs() -> None:
    """Look at jobs and look after them."""


@jobs.command("list", cls=Command, example="holdfast jobs list --state failed --since 1h")
@filter_options
@click.option(
    "--label", type=click.Choice(["held"]), help="Jobs with this label: held by their upstream."
)
@limit_option
@click.option("--before", metavar="ID", help="Only jobs older than this one: the next page.")
@pass_invocation
def list_jobs(
    invocation: Invocation, wanted: Filter, label: str | None, limit: int, before: str | None
) -> None:
    """List jobs, the newest first."""
    engine, output = invocation.engine(), invocation.output
    find = engine.jobs if label is None else engine.held_jobs
    page = engine.labelled(find(wanted.at(engine.clock.now()), before=before, limit=limit))
    if output.as_json:
        for view in page:
            output.document(_document(view, _hiding(engine, view)))
        return
    if not page:
        output.remark("No jobs match." if wanted or before or label else "There are no jobs.")
        return
    print_jobs(output, page)
    tell_next_page(output, page, limit=limit)


@jobs.command(
    "show", cls=Command, example="holdfast jobs show 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48"
)
@click.argument("job_id", metavar="ID")
@pass_invocation
def show_job(invocation: Invocation, job_id: str) -> None:
    """Show all that is known of a job: why it waits, its results, its history."""
    engine, output = invocation.engine(), invocation.output
    (view,) = engine.labelled([engine.job(job_id)])
    history = engine.history(job_id)
    results = engine.results(job_id)
    waiting = engine.waiting(view, history=history)
    refused = engine.retry_obstacle(view)
    explained = situation(
        view,
        history=history,
        plan=engine.store.load_plan(view.job.pipeline, view.job.plan),
        waiting=waiting,
        retry_refusal=None if refused is None else refused.reason,
    )
    sentences = [each.with_command for each in explained]
    hide = _hiding(engine, view)
    if output.as_json:
        document = _document(view, hide)
        document |= {
            "waiting": waiting[0].to_document() if waiting else None,
            "situation": sentences,
            "results": hide(results),
            "history": hide([line.to_document() for line in history]),
        }
        output.document(document)
        return
    _show(output, engine, view, sentences)
    _show_documents(
        output,
        view,
        results,
        public=engine.disclosure(end_user=False).public_error(view),
        hide=hide,
    )
    print_history(output, history, begun=view.job.created_at)


def _hiding(engine: Holdfast, view: JobView) -> Callable[[object], Any]:
    """Return what hides secrets, and personal data unless the job's pipeline keeps them."""
    hide = kept_value if engine.keeps_personal_data(view.job) else private_value
    names = engine.secret_names(view.job)
    return lambda value: hide(without_names(value, names))


def _document(view: JobView, hide: Callable[[object], Any]) -> dict[str, Any]:
    """Return a job as JSON, without what is hidden."""
    document = view.to_document()
    return document | {name: hide(document[name]) for name in _WRITTEN_BY_OTHERS}


def _show(output: Output, engine: Holdfast, view: JobView, sentences: list[str]) -> None:
    job, now = view.job, view.read_at
    plan = engine.store.load_plan(job.pipeline, job.plan)
    output.line(f"Job {job.id}", style="bold")
    for sentence in sentences:
        output.line(sentence)
    output.line()
    output.facts(
        (
            ("state", state_of(view)),
            ("pipeline", job.pipeline),
            ("stage", f"{job.stage}, attempt {attempt_of(job, plan)}"),
            ("queue", f"{job.queue}, priority {job.priority}"),
            ("owner", job.owner if job.owner != DEFAULT_OWNER else None),
            ("key", _hiding(engine, view)(job.key)),
            ("version", str(job.version) if job.version > 1 else None),
            ("rerun of", job.rerun_of),
            ("created", when(job.created_at, now)),
            ("next run", when(job.run_at, now) if job.state == "queued" else None),
            ("answer by", when(job.run_at, now) if job.state == "waiting" else None),
            ("deadline", when(job.deadline_at, now)),
            ("started", when(job.started_at, now)),
            ("finished", when(job.finished_at, now)),
            ("worker", job.holder),
            ("lease until", when(job.lease_until, now)),
            ("sent back", f"{job.retries} times by hand" if job.retries else None),
            ("trace", job.trace),
        )
    )


def _show_documents(
    output: Output,
    view: JobView,
    results: dict[str, Any],
    *,
    public: PublicError | None,
    hide: Callable[[object], Any],
) -> None:
    output.heading("Payload")
    output.line(f"  {_cut(hide(view.payload))}")
    if results:
        output.heading("Results")
        output.facts((stage, _cut(hide(result))) for stage, result in results.items())
    if view.late_result is not None:
        output.heading("Late result (came after the deadline, changes nothing)")
        output.line(f"  {_cut(hide(view.late_result))}")
    error = view.error
    if error is not None:
        output.heading("Error")
        if public is not None and public.error_code != error.get("error_class"):
            output.facts([("error code", public.error_code), ("users read", public.error_message)])
        output.facts(
            (name.replace("_", " "), str(error[name]))
            for name in ("error_class", "message", "category", "http_status", "exception_type")
            if error.get(name)
        )
        for line in str(error.get("stack") or "").splitlines():
            output.line(f"    {line}")


def _cut(document: object) -> str:
    """Return a document as JSON for the eye."""
    text = json_text(document)
    if len(text) <= LONGEST_DOCUMENT:
        return text
    return f"{text[:LONGEST_DOCUMENT]}… [cut, {len(text)} characters; --json shows all]"


jobs.add_command(watch_jobs)
jobs.add_command(retry_jobs)
jobs.add_command(cancel_jobs)
