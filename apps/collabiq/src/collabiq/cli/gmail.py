"""`collabiq gmail`: sign in to the mailbox, and have it announce new mails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import click

from collabiq.cli.output import document, json_option, line, remark, reports_errors
from collabiq.gmail.login import TIMEOUT_S, client_of, sign_in
from collabiq.gmail.token_file import TokenFile
from holdfast.variables import Variables

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
