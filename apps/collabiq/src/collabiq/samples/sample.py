"""A mail of the sample mailbox, and what has to become of it."""

from __future__ import annotations

import base64
import quopri
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

ADDRESS: Final = "collab@example.com"
"""Where the mails of the sample mailbox were sent to."""
DATE: Final = "Mon, 03 Nov 2025 09:30:00 +0900"
_LINE: Final = 76
Encoding = Literal["7bit", "8bit", "base64", "quoted-printable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What reading, cleaning and extracting by rules find; None is not looked at."""

    subject: str | None = None
    says: Sequence[str] = ()
    """What stands in the cleaned text."""
    lacks: Sequence[str] = ()
    """What does not."""
    removed: Sequence[str] = ()
    """The kinds of what was removed."""
    language: str | None = None
    empty: bool = False
    automatic: str | None = None
    attachments: Sequence[str] = ()
    fields: Mapping[str, str | None] = field(default_factory=dict)
    """Of the extraction: `startup_name`, `partner_org`, `person_in_charge`, `date` and so on."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A mail under a name, as the bytes that a server hands out."""

    name: str
    raw: bytes
    expected: Expected


def message(
    *,
    subject: str | bytes,
    body: bytes,
    content_type: str,
    encoding: Encoding = "8bit",
    sender: str = "Jisoo Han <jisoo.han@partner.example>",
    date: str | None = DATE,
    message_id: str = "",
    extra: Sequence[str] = (),
) -> bytes:
    """Return a mail with a body that is encoded already."""
    line = subject if isinstance(subject, bytes) else in_words(subject)
    lines = [
        f"From: {sender}".encode(),
        f"To: {ADDRESS}".encode(),
        b"Subject: " + line,
        *([f"Date: {date}".encode()] if date is not None else []),
        f"Message-ID: {message_id or _id_of(line + body)}".encode(),
        b"MIME-Version: 1.0",
        *(line.encode() for line in extra),
        f"Content-Type: {content_type}".encode(),
        f"Content-Transfer-Encoding: {encoding}".encode(),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def text_mail(
    text: str,
    *,
    subject: str | bytes,
    charset: str = "utf-8",
    declared: str | None = None,
    encoding: Encoding = "8bit",
    sender: str = "Jisoo Han <jisoo.han@partner.example>",
    date: str | None = DATE,
    message_id: str = "",
    extra: Sequence[str] = (),
    subtype: str = "plain",
) -> bytes:
    """Return a mail of one text, in a charset that it may declare otherwise."""
    raw = text.replace("\n", "\r\n").encode(
        charset, "surrogatepass" if charset == "utf-8" else "strict"
    )
    return message(
        subject=subject,
        body=encoded(raw, encoding),
        content_type=f'text/{subtype}; charset="{declared or charset}"',
        encoding=encoding,
        sender=sender,
        date=date,
        message_id=message_id,
        extra=extra,
    )


def encoded(raw: bytes, encoding: Encoding) -> bytes:
    """Return bytes as they travel."""
    match encoding:
        case "base64":
            whole = base64.b64encode(raw)
            lines = [whole[at : at + _LINE] for at in range(0, len(whole), _LINE)]
            return b"".join(line + b"\r\n" for line in lines)
        case "quoted-printable":
            return quopri.encodestring(raw.replace(b"\r\n", b"\n")).replace(b"\n", b"\r\n")
        case "7bit" | "8bit":
            return raw


def part(
    body: bytes, content_type: str, *, encoding: Encoding = "8bit", extra: Sequence[str] = ()
) -> bytes:
    """Return a part of a mail, whose body is not encoded yet."""
    top = [f"Content-Type: {content_type}", f"Content-Transfer-Encoding: {encoding}", *extra]
    return "\r\n".join(top).encode() + b"\r\n\r\n" + encoded(body, encoding)


def text_part(text: str, subtype: str = "plain", *, encoding: Encoding = "8bit") -> bytes:
    """Return a part with text in UTF-8."""
    raw = text.replace("\n", "\r\n").encode()
    return part(raw, f"text/{subtype}; charset=utf-8", encoding=encoding)


def parts(boundary: str, *pieces: bytes) -> bytes:
    """Return the body of a multipart."""
    mark = f"--{boundary}".encode()
    return b"".join(mark + b"\r\n" + piece + b"\r\n" for piece in pieces) + mark + b"--\r\n"


def in_words(text: str, *, charset: str = "utf-8") -> bytes:
    """Return a field as encoded words, unless it is ASCII."""
    if text.isascii():
        return text.encode()
    words = []
    for start in range(0, len(text), 12):
        piece = base64.b64encode(text[start : start + 12].encode(charset)).decode()
        words.append(f"=?{charset}?B?{piece}?=")
    return "\r\n ".join(words).encode()


def _id_of(body: bytes) -> str:
    number = sum((at + 1) * byte for at, byte in enumerate(body[:4_000]))
    return f"<{number:x}.{len(body):x}@mail.example>"
