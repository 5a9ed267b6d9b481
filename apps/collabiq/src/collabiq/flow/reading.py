"""The first two stages of a mail: its bytes are fetched and read, then cleaned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from collabiq.confined.children import MailUnreadable, clean_confined, parse_confined
from collabiq.gmail.errors import GmailNotFound, GrantRevoked, InvalidCredentials
from collabiq.mail.headers import Address
from collabiq.mail.message import Mail, MailTooLarge, NotAMail
from collabiq.mail.parse import MAX_MAIL_BYTES
from collabiq.rows import (
    first_with_message_id,
    get_email,
    get_mailbox,
    get_upload,
    set_mail,
    set_status,
    want_poll,
)
from collabiq.services.tools import Tools
from collabiq.settings.config import Config
from collabiq.shapes import AddressDocument, CleanResult, FetchResult
from holdfast import GiveUp, Holdfast, RetryLater

GONE: Final = "gone"
TOO_LARGE: Final = "too large"
EMPTY: Final = "empty"
MAX_TEXT: Final = 200_000
"""Characters of a text that are kept; a result has to stay well below a megabyte."""
_GRANT_WAIT_S: Final = 15.0
_MAX_HEADER_BYTES: Final = 256 * 1024
_END_OF_HEADER: Final = re.compile(rb"\r?\n\r?\n")
_RECIPIENT: Final = re.compile(rb"^(?:to|cc):[^\n]*@", re.MULTILINE)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def fetch_mail(
    engine: Holdfast, tools: Tools, config: Config, *, email_id: str, job_id: str
) -> FetchResult:
    """Return what a mail of the mailbox says, or why nothing is done with it."""
    with engine.transaction() as tx:
        set_status(tx, email_id, "processing", job_id=job_id)
        box = get_mailbox(tx, config.mailbox)
    refused = None if box is None else box.refused_grant
    if refused is not None and refused == _fingerprint(tools):
        raise RetryLater(after=_GRANT_WAIT_S, reason="Gmail's credentials have to be renewed")
    try:
        found = tools.gmail().message(email_id)
    except GmailNotFound:
        return _skipped(engine, email_id, GONE)
    except GrantRevoked:
        # The next poll finds it out, and is the one that says so.
        with engine.transaction() as tx:
            want_poll(tx, config.mailbox)
        raise RetryLater(
            after=_GRANT_WAIT_S, reason="Gmail's credentials have to be renewed"
        ) from None
    if not is_addressed_to(found.raw, config):
        return _skipped(engine, email_id, f"not to {config.mailbox}")
    received_at = _EPOCH + timedelta(milliseconds=found.received_ms) if found.received_ms else None
    return read_mail(
        engine,
        config,
        found.raw,
        email_id=email_id,
        received_at=received_at,
        thread_id=found.thread_id,
    )


def read_upload(engine: Holdfast, config: Config, *, email_id: str, job_id: str) -> FetchResult:
    """Return what a mail says that was sent in."""
    with engine.transaction() as tx:
        set_status(tx, email_id, "processing", job_id=job_id)
        raw = get_upload(tx, email_id)
    if raw is None:
        raise GiveUp("NOT_FOUND", "the bytes of this mail are not kept any more")
    return read_mail(engine, config, raw, email_id=email_id, received_at=None, thread_id="")


def read_mail(
    engine: Holdfast,
    config: Config,
    raw: bytes,
    *,
    email_id: str,
    received_at: datetime | None,
    thread_id: str,
) -> FetchResult:
    """Return what the bytes of a mail say, and keep what lists show of it."""
    if len(raw) > MAX_MAIL_BYTES:
        return _skipped(engine, email_id, TOO_LARGE)
    try:
        mail = parse_confined(
            raw, own_addresses=config.alert_senders, limit_s=config.mail_parse_limit_s
        )
    except MailTooLarge:
        return _skipped(engine, email_id, TOO_LARGE)
    except NotAMail:
        raise GiveUp("INVALID", "these bytes are no mail") from None
    except MailUnreadable as error:
        raise GiveUp("MAIL_UNREADABLE", str(error)) from None
    with engine.transaction() as tx:
        set_mail(
            tx,
            email_id,
            subject=mail.subject,
            sender=_spoken(mail.sender),
            received_at=received_at or mail.date,
            message_id=mail.message_id,
        )
        row = get_email(tx, email_id)
        twin = None
        if mail.message_id and row is not None:
            twin = first_with_message_id(tx, mail.message_id, before=row.number)
    skip = None if mail.automatic is None else f"automatic: {mail.automatic}"
    if skip is None and twin is not None:
        skip = f"duplicate of {twin}"
    return _document(
        email_id, mail, received_at=received_at or mail.date, thread_id=thread_id, skip=skip
    )


def is_addressed_to(raw: bytes, config: Config) -> bool:
    """Return whether a mail came by the address that is watched, where the query asks for that.

    The history of a mailbox has all of its mails: those of a member of the group are their own.
    A mail without recipients is let through, and so is one that a group has forwarded.
    """
    address = config.mailbox.lower()
    if f"to:{address}" not in config.gmail_query.lower():
        return True
    head = _END_OF_HEADER.split(raw[:_MAX_HEADER_BYTES].lstrip(), maxsplit=1)[0].lower()
    return address.encode() in head or _RECIPIENT.search(head) is None


def clean_mail(fetched: FetchResult, *, limit_s: float) -> CleanResult:
    """Return the text of a mail without signatures, quotes and disclaimers."""
    if fetched["skip"] is not None:
        return CleanResult(text="", removed=[], language="none", empty=True, skip=fetched["skip"])
    try:
        found = clean_confined(fetched["text"], subject=fetched["subject"], limit_s=limit_s)
    except MailUnreadable as error:
        raise GiveUp("MAIL_UNREADABLE", str(error)) from None
    return CleanResult(
        text=found.text,
        removed=[{"kind": each.kind, "text": each.text} for each in found.removed],
        language=found.language,
        empty=found.empty,
        skip=EMPTY if found.empty else None,
    )


def _fingerprint(tools: Tools) -> str | None:
    try:
        return tools.credentials().fingerprint()
    except InvalidCredentials:
        return None


def _skipped(engine: Holdfast, email_id: str, reason: str) -> FetchResult:
    """Return the document of a mail that cannot be read, with what is known of it."""
    with engine.transaction() as tx:
        row = get_email(tx, email_id)
    nobody = AddressDocument(name="", address="")
    return {
        "email_id": email_id,
        "subject": (row.subject if row else None) or "",
        "from": nobody,
        "to": [],
        "cc": [],
        "date": None,
        "received_at": None,
        "message_id": "",
        "thread_id": "",
        "text": "",
        "attachments": [],
        "size_bytes": 0,
        "authentication": "none",
        "limits_met": [],
        "skip": reason,
    }


def _document(
    email_id: str, mail: Mail, *, received_at: datetime | None, thread_id: str, skip: str | None
) -> FetchResult:
    return {
        "email_id": email_id,
        "subject": mail.subject,
        "from": _address(mail.sender),
        "to": _addresses(mail.to),
        "cc": _addresses(mail.cc),
        "date": _text(mail.date),
        "received_at": _text(received_at),
        "message_id": mail.message_id,
        "thread_id": thread_id,
        "text": mail.text[:MAX_TEXT],
        "attachments": [
            {
                "name": each.name,
                "media_type": each.media_type,
                "size_bytes": each.size_bytes,
                "inline": each.inline,
            }
            for each in mail.attachments
        ],
        "size_bytes": mail.size_bytes,
        "authentication": mail.authentication,
        "limits_met": [*mail.limits_met, *(["text"] if len(mail.text) > MAX_TEXT else [])],
        "skip": skip,
    }


def _spoken(address: Address) -> str:
    return f"{address.name} <{address.address}>" if address.name else address.address


def _address(address: Address) -> AddressDocument:
    return AddressDocument(name=address.name, address=address.address)


def _addresses(found: Sequence[Address]) -> list[AddressDocument]:
    return [_address(each) for each in found]


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
