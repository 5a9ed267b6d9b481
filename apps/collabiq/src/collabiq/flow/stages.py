"""The pipelines: what becomes of a mail, of a person's correction, and of a poll."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from collabiq.failures.payloads import (
    CORRECTION,
    DIRECTORY,
    EMAIL,
    INBOX,
    UPLOAD,
    mail_text,
)
from collabiq.flow.extracting import extract
from collabiq.flow.matching import match_mail
from collabiq.flow.reading import clean_mail, fetch_mail, read_upload
from collabiq.flow.steps import in_steps
from collabiq.flow.writing import ToWrite, skip_mail
from collabiq.inbox.polling import poll
from collabiq.rows import forget_replacement, get_email, get_replacement
from collabiq.services.directory import read_step
from collabiq.services.upstreams import OFFLINE
from holdfast import JobContext, Pipeline, Retry

if TYPE_CHECKING:
    from collabiq.failures.errors import ErrorRecords
    from collabiq.flow.writing import Writer
    from collabiq.services.directory import Directory
    from collabiq.services.tools import Tools
    from collabiq.services.upstreams import Upstreams
    from collabiq.settings.config import Config
    from holdfast import Holdfast

_LOCAL: Final = Retry(attempts=5, base=0.5, cap=10.0)
"""Of stages that call nobody: they fail when a worker is lost."""
_MANY: Final = 1_000_000
"""Snoozes: a mail may wait for a person to sign in again."""
SECRET_NAMES: Final = ("text", "body", "properties", "details", "from", "to", "person_in_charge")
"""What mails say, and who wrote them: the console of the engine does not show it."""


class Bound(Protocol):
    """What stages work with, once there is an engine."""

    engine: Holdfast
    tools: Tools
    config: Config
    directory: Directory
    writer: Writer
    errors: ErrorRecords


def make_pipelines(
    bound: Callable[[], Bound], upstreams: Upstreams, config: Config
) -> list[Pipeline]:
    """Return the pipelines; `bound` is called when a stage runs."""
    return [
        _mails(EMAIL, bound, upstreams, config),
        _mails(UPLOAD, bound, upstreams, config),
        _corrections(bound, upstreams),
        _polls(bound, upstreams),
        _directory(bound, upstreams),
    ]


def _pipeline(name: str) -> Pipeline:
    return Pipeline(
        name,
        retry=_LOCAL,
        submit_by="system",
        submit_at="/api/emails",
        secret_names=SECRET_NAMES,
    )


def _mails(name: str, bound: Callable[[], Bound], upstreams: Upstreams, config: Config) -> Pipeline:
    pipeline = _pipeline(name)
    first = "gmail_fetch" if name == EMAIL else "read"

    if name == EMAIL:

        @pipeline.stage(name=first, calls=upstreams.gmail, max_snoozes=_MANY)
        def gmail_fetch(job: JobContext, email_id: str) -> dict[str, Any]:
            """Fetch a mail of the mailbox."""
            my = bound()
            found = fetch_mail(my.engine, my.tools, my.config, email_id=email_id, job_id=job.id)
            return dict(found)

    else:

        @pipeline.stage(name=first)
        def read(job: JobContext, email_id: str) -> dict[str, Any]:
            """Read a mail that was sent in."""
            my = bound()
            return dict(read_upload(my.engine, my.config, email_id=email_id, job_id=job.id))

    @pipeline.stage
    def clean(job: JobContext) -> dict[str, Any]:
        """Take away what a mail does not say itself."""
        return dict(clean_mail(job.results[first], limit_s=config.mail_parse_limit_s))

    calls = None if OFFLINE in config.llm_order else upstreams.gemini

    @pipeline.stage(calls=calls, max_snoozes=_MANY)
    def gemini_extract(job: JobContext, email_id: str) -> dict[str, Any] | None:
        """Find out what a mail says."""
        my = bound()
        if job.results["clean"]["skip"] is not None:
            return None
        replaced = _replacement(my, job.id)
        found = extract(
            my.engine,
            my.tools,
            my.config,
            my.directory,
            email_id=email_id,
            given=replaced if "text" in replaced else mail_text(job.results),
            errors=my.errors,
        )
        _used(my, job.id, replaced)
        return dict(found)

    @pipeline.stage(max_snoozes=_MANY)
    def match(job: JobContext, email_id: str) -> dict[str, Any] | None:
        """Find the companies and the person that are meant."""
        my = bound()
        if job.results["clean"]["skip"] is not None:
            return None
        replaced = _replacement(my, job.id)
        made = match_mail(
            my.engine,
            my.config,
            my.directory,
            email_id=email_id,
            extraction=replaced.get("extraction") or job.results["gemini_extract"],
            fetched=job.results[first],
        )
        _used(my, job.id, replaced)
        my.writer.note_missing(email_id, made["missing_columns"])
        return dict(made)

    @pipeline.stage(calls=upstreams.notion, max_snoozes=_MANY)
    def notion_write(job: JobContext, email_id: str) -> dict[str, Any]:
        """Write the row."""
        my = bound()
        cleaned = job.results["clean"]
        if cleaned["skip"] is not None:
            done = skip_mail(my.engine, email_id=email_id, job_id=job.id, reason=cleaned["skip"])
            return dict(done)
        made = job.results["match"]
        replaced = _replacement(my, job.id)
        if "extraction" in replaced:
            made = match_mail(
                my.engine,
                my.config,
                my.directory,
                email_id=email_id,
                extraction=replaced["extraction"],
                fetched=job.results[first],
            )
        return dict(my.writer.write(to_write(job.id, email_id, made, cleaned["text"])))

    return pipeline


def _corrections(bound: Callable[[], Bound], upstreams: Upstreams) -> Pipeline:
    pipeline = _pipeline(CORRECTION)

    @pipeline.stage(max_snoozes=_MANY)
    def match(job: JobContext, email_id: str, extraction: dict[str, Any]) -> dict[str, Any]:
        """Build the row again from what a person says."""
        my = bound()
        replaced = _replacement(my, job.id)
        fetched = _results_of(my, email_id)
        made = match_mail(
            my.engine,
            my.config,
            my.directory,
            email_id=email_id,
            extraction=cast("Any", replaced.get("extraction") or extraction),
            fetched=fetched.get("gmail_fetch") or fetched.get("read"),
            corrected=True,
        )
        _used(my, job.id, replaced)
        return dict(made)

    @pipeline.stage(calls=upstreams.notion, max_snoozes=_MANY)
    def notion_write(
        job: JobContext, email_id: str, match: dict[str, Any], extraction: dict[str, Any]
    ) -> dict[str, Any]:
        """Change the row, or make it."""
        my = bound()
        cleaned = _results_of(my, email_id).get("clean") or {}
        mail = to_write(job.id, email_id, match, cleaned.get("text", ""))
        done = my.writer.write(mail._replace(corrected=True))
        my.writer.keep_correction(email_id, extraction)
        return dict(done)

    return pipeline


def _polls(bound: Callable[[], Bound], upstreams: Upstreams) -> Pipeline:
    pipeline = Pipeline(INBOX, submit_by="system", submit_at="/api/emails/fetch")

    @pipeline.stage(calls=upstreams.gmail, max_snoozes=_MANY)
    def gmail_poll(job: JobContext, mailbox: str) -> dict[str, Any]:
        """Ask Gmail which mails are new."""
        my = bound()
        given = _replacement(my, job.id)
        found = poll(
            my.engine,
            my.tools,
            my.config,
            mailbox=mailbox,
            poll_id=job.id,
            start_history_id=given.get("start_history_id"),
        )
        _used(my, job.id, given)
        return dict(found)

    return pipeline


def _directory(bound: Callable[[], Bound], upstreams: Upstreams) -> Pipeline:
    pipeline = Pipeline(DIRECTORY, submit_by="system")

    @pipeline.stage(calls=upstreams.notion, max_snoozes=_MANY)
    def notion_directory(job: JobContext) -> dict[str, Any]:
        """Read the columns, companies and people of Notion, a request at a time."""
        my = bound()
        found = in_steps(
            my.engine, lambda: read_step(my.engine, my.tools, my.config, job_id=job.id)
        )
        return dict(found)

    return pipeline


def to_write(job_id: str, email_id: str, made: Mapping[str, Any], text: str) -> ToWrite:
    """Return what the row of a mail is to be."""
    return ToWrite(
        email_id=email_id,
        job_id=job_id,
        database_id=made["database_id"],
        properties=made["properties"],
        text=text,
        review=made["review"],
        similar=made["similar"],
        new_companies=made.get("new_companies") or {},
    )


def _replacement(my: Bound, job_id: str) -> Mapping[str, Any]:
    with my.engine.reading() as tx:
        return get_replacement(tx, job_id) or {}


def _used(my: Bound, job_id: str, replaced: Mapping[str, Any]) -> None:
    """Forget a payload that a stage has taken: it says nothing to the stages after it."""
    if replaced:
        with my.engine.transaction() as tx:
            forget_replacement(tx, job_id)


def _results_of(my: Bound, email_id: str) -> Mapping[str, Any]:
    """Return what the stages of a mail's last run have found."""
    with my.engine.reading() as tx:
        row = get_email(tx, email_id)
    return {} if row is None or row.job_id is None else my.engine.results(row.job_id)
