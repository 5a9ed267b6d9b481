"""`collabiq email`: mails that were noticed, and single mails from files."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import click

from collabiq.cli.commands.llm import read_bytes
from collabiq.cli.dry_run import dry_run
from collabiq.cli.extractions import print_email, print_fields, shortened, sure_words, value_text
from collabiq.cli.opening import Opened, opened
from collabiq.cli.output import (
    ExitCode,
    document,
    exit_with,
    facts,
    json_option,
    line,
    remark,
    reports_errors,
    table,
)
from collabiq.cli.services import Services, now
from collabiq.cli.times import Since, shown_time
from holdfast import JobState
from holdfast.variables import invalid

STATUSES: Final = ("pending", "processing", "processed", "needs_review", "skipped", "failed")
MAX_LISTED: Final = 200
_ENDED: Final = frozenset(STATUSES) - {"pending", "processing"}
_ENDED_WELL: Final = _ENDED - {"failed"}
_POLL_ENDED: Final = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED})


@click.group()
def email() -> None:
    """Look at mails, poll the mailbox, and try single mails."""


@email.command()
@json_option
@reports_errors
def verify(*, as_json: bool) -> None:
    """Check that the mailbox can be read, with the credentials that collabiq uses.

    Ends with 2 where the credentials have to be renewed (collabiq gmail login) and with 3 where
    Gmail does not answer.

    Example: collabiq email verify
    """
    own = Services()
    if own.config.email_address is None:
        raise invalid("EMAIL_ADDRESS", "", "the mailbox to watch")
    with own.gmail() as (api, credentials):
        profile = api.profile()
        page = api.list_page(own.config.gmail_query)
        left_s = credentials.load().left_s(now())
    found = {
        "mailbox": own.config.email_address,
        "signed_in_as": profile.address,
        "history_id": profile.history_id,
        "query": own.config.gmail_query,
        "found": len(page.ids),
        "more": page.next_page is not None,
        "token_seconds_left": round(left_s),
    }
    if as_json:
        document({"ok": True, **found})
        return
    more = " at least" if found["more"] else ""
    facts([("mailbox", found["mailbox"]), ("signed in as", found["signed_in_as"])])
    facts([("query", found["query"]), ("mails found", f"{found['found']}{more}")])


@email.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Those that stand so alone.")
@click.option("--since", type=Since(), help="Not older than this, such as 24h or 2025-11-03.")
@click.option("--search", "q", metavar="TEXT", help="In subject, sender, start-up and partner.")
@click.option("--limit", type=click.IntRange(1, MAX_LISTED), default=50, show_default=True)
@click.option("--cursor", metavar="TEXT", help="Where the page before has ended.")
@json_option
@reports_errors
def list_(
    *,
    status: str | None,
    since: datetime | None,
    q: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
) -> None:
    """List mails, newest first.

    Example: collabiq email list --status needs_review

    Or: collabiq email list --since 24h --json
    """
    with opened() as system:
        page = system.collabiq.emails.list(
            status=status, since=since, q=q, limit=limit, cursor=cursor
        )
    if as_json:
        document(page)
        return
    table(
        ("ID", "RECEIVED", "STATUS", "START-UP", "PARTNER", "SURE", "SUBJECT"),
        (
            (
                each["email_id"],
                shown_time(each["received_at"]),
                each["status"],
                each["startup_name"],
                each["partner_org"],
                sure_words(each["confidence"]),
                shortened(each["subject"]),
            )
            for each in page["emails"]
        ),
    )
    if not page["emails"]:
        remark("no mails")
    if page.get("next"):
        remark(f"more with --cursor {page['next']}")


@email.command()
@json_option
@reports_errors
def fetch(*, as_json: bool) -> None:
    """Poll the mailbox now, and note what is new; a poll under way is joined.

    What is new waits to be processed: by a system that runs, or by the next collabiq run. Ends
    with 3 where Gmail does not answer, and with 2 where its credentials are refused.

    Example: collabiq email fetch
    """
    with opened() as system:
        system.require_secrets()
        poll = system.collabiq.inbox.fetch(by=getpass.getuser())
        with system.working():
            ended = system.wait_for(lambda: system.engine.job(poll["poll_id"]).state in _POLL_ENDED)
        last = system.collabiq.inbox.last_poll() or {}
        new = system.new_of_poll(poll["poll_id"])
    done = ended and last.get("state") == JobState.COMPLETE.value
    if as_json:
        document({**poll, "ok": done, "new": new, "error": last.get("error")})
    elif done:
        line(f"{new} new")
    if last.get("credentials_refused"):
        exit_with(
            ExitCode.CONFIGURATION, "Google refuses the credentials; run collabiq gmail login"
        )
    if not done:
        exit_with(ExitCode.API, "the mailbox could not be polled; collabiq errors list has why")


@email.command()
@click.argument("email_id")
@click.option("--text", is_flag=True, help="With the cleaned text of the mail.")
@json_option
@reports_errors
def show(*, email_id: str, text: bool, as_json: bool) -> None:
    """Show all that is known of a mail: fields, matches, the row, and what failed.

    Example: collabiq email show 19a3f3f856f0b4d4 --text
    """
    with opened() as system:
        found = system.collabiq.emails.show(email_id)
    if as_json:
        document(found)
        return
    print_email(found, text=text)


@email.command()
@click.argument("email_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@reports_errors
def forget(*, email_id: str, yes: bool, as_json: bool) -> None:
    """Remove everything that is kept of a mail here; its row in Notion stays.

    Text, extraction, dead letters and records go, with their files. That the mail is known by its
    id is kept, so that it does not come again.

    Example: collabiq email forget 19a3f3f856f0b4d4 --yes
    """
    if not yes:
        click.confirm(f"Remove everything that is kept of {email_id}?", abort=True, err=True)
    with opened() as system:
        done = system.collabiq.emails.forget(email_id, by=getpass.getuser())
    if as_json:
        document(done)
    else:
        line(f"{email_id} is forgotten")


@email.command("process")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--write", is_flag=True, help="Process it in earnest: store it, and write the row.")
@json_option
@reports_errors
def process(*, file: str, write: bool, as_json: bool) -> None:
    """Show what would become of the mail in FILE, on this machine alone; `-` reads stdin.

    Needs no account, no database and no network: the rules look into the mail in place of Gemini,
    and the row is shown with the usual columns. Nothing is written anywhere. Companies and people
    are in Notion, so none is linked here. Ends with 4 for a file that is no mail.

    With --write it is processed as a mail of the mailbox would be, with the settings of collabiq:
    the same file is processed once. Ends with 1 where it failed.

    Example: collabiq email process mail.eml

    Or: python -m collabiq.samples mails && collabiq email process mails/english-plain.eml --json
    """
    raw = read_bytes(file)
    if write:
        _process_in_earnest(raw, as_json=as_json)
        return
    found = dry_run(raw, Services().config)
    if as_json:
        document(found)
    else:
        _print_dry_run(found)


def _process_in_earnest(raw: bytes, *, as_json: bool) -> None:
    with opened() as system:
        made, is_new = system.collabiq.emails.receive(raw, by=getpass.getuser())
        email_id = made["email_id"]
        with system.working():
            system.wait_for(lambda: _status_of(system, email_id) in _ENDED)
        found = system.collabiq.emails.show(email_id)
    if as_json:
        document({**found, "new": is_new})
    else:
        print_email(found, text=False)
        if not is_new:
            remark("it was processed before")
    if found["status"] not in _ENDED_WELL:
        exit_with(ExitCode.ERROR, f"it is {found['status']}: {found['reason'] or 'not ended'}")


def _status_of(system: Opened, email_id: str) -> str:
    return str(system.collabiq.emails.show(email_id)["status"])


def _print_dry_run(found: Mapping[str, Any]) -> None:
    mail = found["mail"]
    sender = mail["from"]
    facts(
        [
            ("subject", mail["subject"]),
            ("from", f"{sender['name']} <{sender['address']}>".strip()),
            ("date", shown_time(mail["date"])),
            ("attachments", ", ".join(mail["attachments"])),
            ("cut away", ", ".join(found["removed"])),
        ]
    )
    if found["reason"] is not None:
        line(f"would be skipped: {found['reason']}", style="yellow")
        return
    line()
    print_fields(found["extraction"])
    line()
    line("the row would be:")
    table(
        ("COLUMN", "VALUE"),
        ((name, shortened(value_text(value))) for name, value in found["properties"].items()),
    )
    remark(
        "offline: found by rules and not by Gemini, no company or person was looked up, and "
        "nothing was written; a row of it would be marked for review"
    )
