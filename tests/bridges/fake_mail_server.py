"""Mail servers on loopback: a real one with a ledger, and one that breaks off where it is told."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

from tests.classify.servers import LOOPBACK, Connection, Server, unused_port

USERNAME = "reviews"
PASSWORD = "hV3qLw9TzXm2KpRc"


@dataclass
class MailLedger:
    """What was accepted: envelope and message; `replies` refuse by recipient or step."""

    replies: dict[str, str] = field(default_factory=dict)
    accepted: list[tuple[str, str, EmailMessage]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)

    async def handle_MAIL(self, server, session, envelope, address, options):  # noqa: N802
        if "mail" in self.replies:
            return self.replies["mail"]
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        if address in self.replies:
            return self.replies[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        if "data" in self.replies:
            return self.replies["data"]
        self.raw.append(envelope.original_content)
        message = message_from_bytes(envelope.original_content, policy=policy.SMTP)
        for recipient in envelope.rcpt_tos:
            self.accepted.append((envelope.mail_from, recipient, message))
        return "250 2.0.0 queued"


@contextmanager
def mail_server(
    ledger: MailLedger, *, starttls: bool = False, implicit_tls: bool = False
) -> Iterator[int]:
    """Serve on loopback; yields the port."""

    def authenticate(server, session, envelope, mechanism, data) -> AuthResult:
        ledger.logins.append(data.password)
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)

    sessions: list[SMTP] = []

    def factory() -> SMTP:
        session = SMTP(
            ledger,
            hostname=LOOPBACK,
            authenticator=authenticate,
            auth_require_tls=False,
            tls_context=trusted_tls().server if starttls else None,
            require_starttls=starttls,
        )
        sessions.append(session)
        return session

    async def hang_up() -> None:
        for session in sessions:
            if session.transport is not None:
                session.transport.abort()
        # A transport closes its socket in the turn after it was told to.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    class Served(Controller):
        def factory(self) -> SMTP:
            return factory()

    controller = Served(
        ledger,
        hostname=LOOPBACK,
        port=unused_port(),
        ssl_context=trusted_tls().server if implicit_tls else None,
    )
    controller.start()
    try:
        yield controller.port
    finally:
        asyncio.run_coroutine_threadsafe(hang_up(), controller.loop).result(10)
        controller.stop()


Break = Callable[[Connection], None]

STEPS = ("greeting", "EHLO", "MAIL", "RCPT", "DATA", "body")


@dataclass
class BreakingServer:
    """Speaks SMTP up to a step, and then does something else in place of its reply."""

    step: str
    breaks: Break
    messages: list[bytes] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[Server]:
        with Server(self._behave) as server:
            yield server

    def _behave(self, connection: Connection) -> None:
        for step, reply in zip(
            STEPS,
            ("220 here", "250 here", "250 OK", "250 OK", "354 go on", "250 queued"),
            strict=True,
        ):
            if step == "body":
                while (line := connection.read_line()) != b".":
                    self.messages.append(line)
            elif step != "greeting":
                said = connection.read_line().decode()
                assert said.upper().startswith(step), said
            if step == self.step:
                self.breaks(connection)
                return
            connection.send(f"{reply}\r\n".encode())


def drips(connection: Connection) -> None:
    """Sends a reply of many lines, a byte at a time."""
    while not connection.stopping.wait(0.05):
        connection.send(b"2")


def says(reply: str) -> Break:
    return lambda connection: connection.send(f"{reply}\r\n".encode())


@dataclass(frozen=True)
class Tls:
    server: ssl.SSLContext
    client: ssl.SSLContext


@cache
def trusted_tls() -> Tls:
    """Both sides of a certificate for this machine that only the client's side vouches for."""
    from cryptography import x509  # noqa: PLC0415 - takes long to import
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, LOOPBACK)])
    began = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(began)
        .not_valid_after(began + dt.timedelta(days=7))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))]), False)  # noqa: FBT003
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + pem
        )
        server.load_cert_chain(chain)
    return Tls(server, ssl.create_default_context(cadata=pem.decode()))
