"""From the bytes of a mail to what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from collabiq.mail.automatic import authentication_of, automatic_reason
from collabiq.mail.headers import Address, Headers, looks_like_a_header
from collabiq.mail.html_text import text_of_html
from collabiq.mail.message import Attachment, Mail, MailTooLarge, NotAMail
from collabiq.mail.mime import Budget, Part, part_of
from collabiq.mail.text import one_line, plain

MAX_MAIL_BYTES: Final = 25 * 1024 * 1024
MAX_SUBJECT: Final = 1_000
FORWARDED: Final = "---------- Forwarded message ---------"
"""Stands before the text of a mail that came as an attachment, as mailers have it."""
_MAX_MESSAGE_ID: Final = 998
_STUB_LETTERS: Final = 60
_STUB_RATIO: Final = 3


def parse_mail(raw: bytes, *, own_addresses: Collection[str] = ()) -> Mail:
    """Return what a mail says.

    Whatever is wrong in it, it is read as far as it goes. Raises `NotAMail` for what is none, and
    `MailTooLarge`. Mails from `own_addresses` are automatic.
    """
    if len(raw) > MAX_MAIL_BYTES:
        raise MailTooLarge(len(raw), limit_bytes=MAX_MAIL_BYTES)
    if not looks_like_a_header(raw):
        raise NotAMail("this is no mail: it is empty or has no header")
    budget = Budget()
    whole = part_of(raw.lstrip(b"\r\n"), budget=budget)
    reader = _Reader(budget)
    text = reader.text_of(whole, depth=0)
    headers = whole.headers
    return Mail(
        subject=one_line(headers.get("subject"), limit=MAX_SUBJECT),
        sender=_sender(headers),
        to=headers.addresses("to"),
        cc=headers.addresses("cc"),
        date=headers.date(),
        message_id=one_line(headers.raw("message-id"), limit=_MAX_MESSAGE_ID),
        text=text,
        attachments=tuple(reader.attachments),
        size_bytes=len(raw),
        automatic=automatic_reason(headers, own_addresses=own_addresses),
        authentication=authentication_of(headers),
        limits_met=tuple(sorted(budget.met)),
    )


class _Reader:
    """Goes through the parts, collects text and lists files."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.attachments: list[Attachment] = []

    def text_of(self, part: Part, *, depth: int) -> str:
        """Return what a part and those in it have to read."""
        match part.media_type:
            case "multipart/alternative":
                return self._best(part, depth=depth)
            case "message/rfc822" | "message/global":
                return self._forwarded(part, depth=depth)
            case kind if kind.startswith("multipart/"):
                return _joined(self.text_of(each, depth=depth + 1) for each in part.parts)
            case "text/plain" if not part.is_attachment:
                return part.text().strip("\n")
            case "text/html" if not part.is_attachment:
                return text_of_html(part.text(), limits_met=self._budget.met)
            case _:
                self._list(part)
                return ""

    def _best(self, part: Part, *, depth: int) -> str:
        """Return the plain version, unless it is a stub that sends readers to another one."""
        plains: list[str] = []
        others: list[str] = []
        for each in part.parts:
            text = self.text_of(each, depth=depth + 1)
            (plains if each.media_type == "text/plain" else others).append(text)
        text, other = _joined(plains), max(others, key=_letters, default="")
        few = _letters(text)
        is_stub = few <= _STUB_LETTERS and _letters(other) > _STUB_RATIO * few
        return other if is_stub else text

    def _forwarded(self, part: Part, *, depth: int) -> str:
        if not self._budget.takes(depth=depth + 1):
            return ""
        inner = _inner(part, budget=self._budget, depth=depth + 1)
        headers = inner.headers
        said = [("From", headers.get("from")), ("Date", headers.get("date"))]
        said += [("Subject", headers.get("subject")), ("To", headers.get("to"))]
        top = "\n".join(f"{name}: {one_line(value, limit=MAX_SUBJECT)}" for name, value in said)
        return f"{FORWARDED}\n{top}\n\n{self.text_of(inner, depth=depth + 1)}"

    def _list(self, part: Part) -> None:
        disposition, _ = part.headers.disposition()
        name = part.file_name
        if not name and part.media_type == "text/calendar":
            name = "invite.ics"
        self.attachments.append(
            Attachment(
                name=name,
                media_type=one_line(part.media_type, limit=127),
                size_bytes=part.size_bytes,
                inline=disposition == "inline" or "content-id" in part.headers,
            )
        )


def _inner(part: Part, *, budget: Budget, depth: int) -> Part:
    if part.encoding in {"base64", "quoted-printable"}:
        return part_of(part.content().lstrip(b"\r\n"), budget=budget, depth=depth)
    start = part.start
    while part.mail[start : start + 1] in {b"\r", b"\n"}:
        start += 1
    return part_of(part.mail, budget=budget, start=start, end=part.end, depth=depth)


def _sender(headers: Headers) -> Address:
    found = headers.addresses("from") or headers.addresses("sender")
    return found[0] if found else Address("", "")


def _joined(texts: Iterable[str]) -> str:
    return plain("\n\n".join(text for text in texts if text.strip()))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
