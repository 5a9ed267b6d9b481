"""Any mail server, over SMTP.

Its promise: none. Every try of a delivery carries the same Message-ID, which some mailboxes drop
the second time; no server has to, and none can be asked. A send whose answer was lost is for a
person to judge.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from typing import Any, Final, Literal

import aiosmtplib

from holdfast.bridges.calls import fields
from holdfast.bridges.calls.deadline import Deadline, connect
from holdfast.bridges.calls.secret import Key, Secret
from holdfast.bridges.calls.upstream import Guarded
from holdfast.bridges.hosts import is_loopback
from holdfast.bridges.mail import MAX_LINE_LENGTH, Mail, address_of, checked_mail
from holdfast.classify import ProviderError, QuotaExceeded
from holdfast.classify.reasons import is_untrusted
from holdfast.classify.services.smtp import quota_window
from holdfast.classify.verdicts import ANSWER_INVALID, AUTH, TIMEOUT_UNSENT, UNSENT
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.instant import Instant, to_datetime
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidValue
from holdfast.runtime.deliveries.provider import Evidence
from holdfast.runtime.kernel.clock import wall_clock
from holdfast.secrecy import safe_text

Security = Literal["starttls", "tls", "none"]

_PORTS: Final[Mapping[str, int]] = {"starttls": 587, "tls": 465, "none": 25}
_ID_LEFT: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FIRST_REFUSAL: Final = 400
_GOODBYE_S: Final = 2.0
_SHOWN_LENGTH: Final = 300
_POLICY: Final = SMTP_POLICY.clone(cte_type="7bit")
# Folded where it must be: many receivers do not put a folded link together again.
_UNFOLDED: Final = _POLICY.clone(max_line_length=MAX_LINE_LENGTH)


class Smtp:
    """Sends e-mails through a mail server.

    `security` is `starttls` (refused when the server has none), `tls` from the first byte, or
    `none`, with which a password goes to this machine only. `bounces_to` is the envelope's sender,
    by default the message's. Metadata of a message are not sent.
    """

    def __init__(
        self,
        host: str,
        port: int | None = None,
        *,
        name: str = "smtp",
        security: Security = "starttls",
        username: str | None = None,
        password: Key | None = None,
        bounces_to: str | None = None,
        local_name: str | None = None,
        tls: ssl.SSLContext | None = None,
        upstream: Guarded | None = None,
        retry: Retry | None = None,
        now: Callable[[], Instant] = wall_clock,
    ) -> None:
        if security not in _PORTS:
            limit = f"one of {', '.join(_PORTS)}"
            raise InvalidValue("Smtp", field="security", value=security, limit=limit)
        if (username is None) != (password is None):
            limit = "given together with password"
            raise InvalidValue("Smtp", field="username", value=username, limit=limit)
        if password is not None and security == "none" and not is_loopback(host):
            limit = "starttls or tls, because a password would be sent for all to read"
            raise InvalidValue("Smtp", field="security", value=security, limit=limit)
        self.name = name
        self.upstream = upstream
        self.retry = retry
        self.promise = Promise()
        self._host, self._port = host, port or _PORTS[security]
        self._security = security
        self._username = username
        self._password = Secret(password, name=f"the password of {name}") if password else None
        self._bounces_to = bounces_to
        self._local_name = local_name or socket.gethostname()
        self._tls = tls
        self._now = now

    def check(self, message: Mapping[str, Any]) -> None:
        """Raise InvalidValue, naming the field, when the message cannot be sent."""
        self._envelope_of(checked_mail(message))

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Send the e-mail, whether or not the token was seen before; blocks this thread."""
        mail = checked_mail(message)
        sender, recipient = self._envelope_of(mail)
        message_id = _message_id(fields.token(token), sender)
        content = _rendered(mail, message_id=message_id, now=self._now())
        deadline = Deadline(timeout_s)
        password = self._password.read() if self._password else None
        handover = _Handover(sender, recipient, content)
        try:
            with connect(self._host, self._port, deadline=deadline) as connection:
                asyncio.run(self._converse(connection, password, handover, deadline))
        except aiosmtplib.SMTPResponseException as error:
            window = quota_window(error.code, error.message)
            if window is not None:
                said = safe_text(error.message, _SHOWN_LENGTH)
                told = f"{self.name} answered {error.code}: {said}"
                raise QuotaExceeded(told, window=window) from error
            if error.code >= _FIRST_REFUSAL:
                raise
            verdict = replace(ANSWER_INVALID, outcome_known=not handover.begun)
            raise ProviderError(verdict, f"{self.name} answered out of turn: {error}") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            if handover.begun:
                raise
            raise self._unsent(error) from error
        return Evidence(notification_id=message_id)

    def __repr__(self) -> str:
        return f"Smtp({self.name!r})"

    def _envelope_of(self, mail: Mail) -> tuple[str, str]:
        sender = address_of(self._bounces_to or mail.sender)
        recipient = address_of(mail.to)
        for field, address in (("from", sender), ("to", recipient)):
            if not address.isascii():
                limit = "an address in ASCII, its domain in the form that begins with xn--"
                raise fields.invalid(field, address, limit)
        return sender, recipient

    async def _converse(
        self,
        connection: socket.socket,
        password: str | None,
        handover: _Handover,
        deadline: Deadline,
    ) -> None:
        client = aiosmtplib.SMTP(
            hostname=self._host,
            sock=connection,
            local_hostname=self._local_name,
            use_tls=self._security == "tls",
            start_tls=self._security == "starttls",
            tls_context=self._tls_context(),
            timeout=None,
        )
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout(deadline.left_s()):
                await client.connect()
                transport = client.transport
                if self._username is not None and password is not None:
                    await client.login(self._username, password)
                await handover.carry_out(client)
            # The server has answered for the message; how the conversation ends changes nothing.
            with suppress(aiosmtplib.SMTPException, OSError):
                async with asyncio.timeout(_GOODBYE_S):
                    await client.quit()
        finally:
            client.close()
            # A TLS connection that is closed waits for the other side; nothing waits here.
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()

    def _tls_context(self) -> ssl.SSLContext | None:
        if self._security == "none":
            return None
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _unsent(self, error: Exception) -> Exception:
        """What failed before the message was handed over: it was not accepted, whatever it was."""
        if is_untrusted(error):
            return ProviderError(AUTH, f"the certificate of {self._host} is not trusted")
        if isinstance(error, TimeoutError):
            return ProviderError(TIMEOUT_UNSENT, f"{self.name} took too long before the message")
        if isinstance(error, OSError):
            return ProviderError(UNSENT, f"{self.name} broke off before the message: {error}")
        return error


class _Handover:
    """One message on its way; `begun` from the moment the server may have accepted it."""

    def __init__(self, sender: str, recipient: str, content: bytes) -> None:
        self._sender, self._recipient, self._content = sender, recipient, content
        self.begun = False

    async def carry_out(self, client: aiosmtplib.SMTP) -> None:
        await client.mail(self._sender)
        await client.rcpt(self._recipient)
        self.begun = True
        await client.data(self._content)


def _message_id(token: str, sender: str) -> str:
    """An id that is the same for every try, in the domain of the sender."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    left = token if _ID_LEFT.fullmatch(token) else digest
    return f"<{left}@{sender.rpartition('@')[2]}>"


def _rendered(mail: Mail, *, message_id: str, now: Instant) -> bytes:
    message = EmailMessage(policy=_POLICY)
    message["From"], message["To"] = mail.sender, mail.to
    message["Subject"] = mail.subject
    message["Message-ID"] = message_id
    message["Date"] = format_datetime(to_datetime(now))
    if mail.reply_to is not None:
        message["Reply-To"] = mail.reply_to
    for name, value in mail.headers.items():
        message[name] = value
    if mail.text is not None:
        message.set_content(mail.text)
        if mail.html is not None:
            message.add_alternative(mail.html, subtype="html")
    elif mail.html is not None:
        message.set_content(mail.html, subtype="html")
    return message.as_bytes(policy=_UNFOLDED)
