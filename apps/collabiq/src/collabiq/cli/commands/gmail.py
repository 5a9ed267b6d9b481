"""`collabiq gmail`: sign in to the mailbox, and have it announce new mails."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import click

from collabiq.cli.output import document, json_option, line, remark, reports_errors
from collabiq.cli.services import Services
from collabiq.gmail.login import TIMEOUT_S, client_of, sign_in
from collabiq.gmail.token_file import TokenFile
from holdfast.variables import Variables, invalid

DEFAULT_TOKEN_PATH = "token.json"  # noqa: S105 - a path
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@click.group()
def gmail() -> None:
    """Sign in to the mailbox, and have it announce new mails."""


@gmail.command()
@click.option(
    "--client",
    "client_file",
    type=click.File("r", encoding="utf-8"),
    default=None,
    help="The OAuth client as Google's console hands it out. [default: GMAIL_CREDENTIALS_PATH]",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="To come back to.")
@click.option("--timeout", "timeout_s", type=click.IntRange(1, 3_600), default=TIMEOUT_S)
@json_option
@reports_errors
def login(
    *,
    client_file: TextIO | None,
    no_browser: bool,
    port: int,
    timeout_s: int,
    as_json: bool,
) -> None:
    """Sign in to Gmail in a browser, and store the credentials in GMAIL_TOKEN_PATH.

    The file is for its owner's eyes only, and encrypted where GMAIL_ENCRYPTION_KEY is set. A
    poller that was stopped by revoked credentials goes on by itself.

    Example: collabiq gmail login --client credentials.json
    """
    given = Variables.of(os.environ, system="collabiq")
    path = given.text("GMAIL_CREDENTIALS_PATH", "credentials.json")
    text = client_file.read() if client_file is not None else Path(path).read_text("utf-8")
    client = client_of(text, token_uri=given.text("GMAIL_TOKEN_URI", "") or None)
    if urlsplit(client["installed"]["token_uri"]).hostname in _LOOPBACK:
        # A stand-in on this machine: the library takes nothing but https otherwise.
        os.environ.setdefault("OAUTHLIB_INSECURE_TRANSPORT", "1")
    file = TokenFile(
        Path(given.text("GMAIL_TOKEN_PATH", DEFAULT_TOKEN_PATH)),
        key=given.text("GMAIL_ENCRYPTION_KEY", "") or None,
    )
    found = sign_in(
        client,
        show=lambda url: remark(f"Sign in at {url}"),
        open_browser=not no_browser,
        port=port,
        timeout_s=timeout_s,
    )
    file.write(found.to_json())
    if as_json:
        document({"stored": True, "expiry": found.expiry})
    else:
        line("signed in; the credentials are stored")


@gmail.command()
@click.option("--topic", metavar="NAME", help="The topic of Pub/Sub. [default: GMAIL_TOPIC]")
@json_option
@reports_errors
def watch(*, topic: str | None, as_json: bool) -> None:
    """Have Gmail announce new mails to a topic of Pub/Sub, for seven days.

    Gmail must be allowed to publish to the topic, and the topic has to push to
    /api/gmail/notifications of this system. A system that runs with GMAIL_TOPIC renews the watch
    by itself; polling goes on behind it, so nothing is lost when announcements stop.

    Example: collabiq gmail watch --topic projects/my-project/topics/collabiq
    """
    own = Services()
    name = topic or own.config.gmail_topic
    if name is None:
        limit = "a topic such as projects/my-project/topics/collabiq, or --topic"
        raise invalid("GMAIL_TOPIC", "", limit)
    with own.gmail() as (api, _):
        answer = api.watch(name)
    until = datetime.fromtimestamp(int(answer.get("expiration", 0)) / 1_000, UTC)
    if as_json:
        document(
            {
                "topic": name,
                "expires_at": until.isoformat(),
                "history_id": str(answer.get("historyId", "")),
            }
        )
    else:
        line(f"Gmail announces new mails to {name} until {until:%Y-%m-%d %H:%M}Z")
