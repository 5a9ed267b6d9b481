"""smtplib and aiosmtplib against a mail server that refuses at every step, hangs and goes away."""

import asyncio
import smtplib
from contextlib import contextmanager

import aiosmtplib
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from holdfast.classify import classify
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import LOOPBACK, Server, deaf_port, unused_port

MAIL = b"Subject: hello\r\n\r\nhello\r\n"
SENDER = "us@example.test"
RECIPIENT = "them@example.test"

UNWELL = retried("UPSTREAM_5XX", known=True, blames=True)
NOT_NOW = retried("UPSTREAM_5XX", known=True, blames=False)

BY_REPLY = {
    "421 4.3.2 shutting down": UNWELL,
    "450 4.2.1 mailbox busy": rows.RATE_LIMITED,
    "450 4.7.1 greylisted": rows.RATE_LIMITED,
    "451 4.3.0 try again later": rows.RATE_LIMITED,
    "452 4.3.1 no room": rows.RATE_LIMITED,
    "454 4.7.0 not now": NOT_NOW,
    "550 5.4.5 Daily user sending limit exceeded. See support.google.com": rows.QUOTA,
    "454 Throttling failure: Daily message quota exceeded.": rows.QUOTA,
    "550 5.1.90 You've reached your daily limit for message recipients": rows.QUOTA,
    "554 5.2.0 STOREDRV; SubmissionQuotaExceededException; over the limit": rows.QUOTA,
    "451 Authentication failed: Maximum credits exceeded": rows.QUOTA,
    "550 5.7.1 monthly sending limit reached": rows.QUOTA,
    "452 4.2.2 over quota, daily mail is not taken": rows.RATE_LIMITED,
    "500 what?": rows.INVALID,
    "530 5.7.0 authenticate first": rows.AUTH,
    "550 5.1.1 no such user": rows.NOT_FOUND,
    "550 no such user": rows.NOT_FOUND,
    "550 5.7.1 blocked": rows.POLICY,
    "551 5.1.6 moved": rows.NOT_FOUND,
    "552 5.3.4 too big": rows.INVALID,
    "553 5.1.3 odd name": rows.INVALID,
    "554 no": rows.POLICY,
    "554 5.7.1 spam": rows.POLICY,
    "554 5.7.8 bad credentials": rows.AUTH,
    "556 5.1.10 accepts no mail": rows.NOT_FOUND,
}


class Mailbox:
    """Takes every mail, but for the steps that a test has a reply for."""

    def __init__(self, **replies):
        self.replies = replies

    async def handle_MAIL(self, server, session, envelope, address, options):  # noqa: N802
        if "mail" in self.replies:
            return self.replies["mail"]
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        reply = self.replies.get(address) or self.replies.get("rcpt")
        if reply:
            return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        reply = self.replies.get("data", "250 OK")
        if reply == "hang up":
            server.transport.abort()
        if reply == "hang":
            await asyncio.sleep(5)
        return reply


@contextmanager
def mail_server(login="235 2.7.0 welcome", **replies):
    def authenticate(server, session, envelope, mechanism, data):
        return AuthResult(success=login.startswith("2"), handled=False, message=login)

    controller = Controller(
        Mailbox(**replies),
        hostname=LOOPBACK,
        port=unused_port(),
        authenticator=authenticate,
        auth_require_tls=False,
    )
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


def send_with_smtplib(port, *, to=RECIPIENT, login=False, timeout=20):
    with smtplib.SMTP(LOOPBACK, port, timeout=timeout) as client:
        if login:
            client.login("us", "secret")
        return client.sendmail(SENDER, to, MAIL)


def send_with_aiosmtplib(port, *, to=RECIPIENT, login=False, timeout=20):
    async def send():
        client = aiosmtplib.SMTP(
            hostname=LOOPBACK, port=port, timeout=timeout, use_tls=False, start_tls=False
        )
        await client.connect()
        try:
            if login:
                await client.login("us", "secret")
            return await client.sendmail(SENDER, to, MAIL)
        finally:
            client.close()

    return asyncio.run(send())


@pytest.fixture(params=[send_with_smtplib, send_with_aiosmtplib], ids=["smtplib", "aiosmtplib"])
def send(request):
    return request.param


def test_a_mail_that_is_accepted(send):
    with mail_server() as port:
        returned = send(port, login=True)

    refused = returned if isinstance(returned, dict) else returned[0]
    assert refused == {}


@pytest.mark.parametrize("reply", BY_REPLY)
@pytest.mark.parametrize("step", ["mail", "rcpt", "data"])
def test_a_reply(send, step, reply):
    with mail_server(**{step: reply}) as port:
        error = caught(send, port)

    assert row_of(error) == BY_REPLY[reply]
    assert classify(error, now=NOW).http_status is None


@pytest.mark.parametrize(
    ("reply", "row"),
    [("535 5.7.8 wrong password", rows.AUTH), ("454 4.7.0 temporarily not", NOT_NOW)],
)
def test_a_login_that_is_refused(send, reply, row):
    with mail_server(login=reply) as port:
        error = caught(send, port, login=True)

    assert type(error).__name__ == "SMTPAuthenticationError"
    assert row_of(error) == row


def test_recipients_that_are_refused_for_different_reasons(send):
    replies = {"a@example.test": "550 5.1.1 unknown", "b@example.test": "452 4.5.3 too many"}
    with mail_server(**replies) as port:
        error = caught(send, port, to=list(replies))

    assert type(error).__name__ == "SMTPRecipientsRefused"
    assert row_of(error) == rows.RATE_LIMITED


def test_a_connection_that_is_lost_while_the_mail_is_sent(send):
    with mail_server(data="hang up") as port:
        error = caught(send, port)

    assert type(error).__name__ == "SMTPServerDisconnected"
    assert row_of(error) == rows.NETWORK


def test_a_mail_that_is_not_acknowledged_in_time():
    with mail_server(data="hang") as port:
        error = caught(send_with_aiosmtplib, port, timeout=0.2)
        blocking = caught(send_with_smtplib, port, timeout=0.2)

    assert isinstance(error, aiosmtplib.SMTPReadTimeoutError)
    assert row_of(error) == rows.TIMEOUT
    assert row_of(blocking) in (rows.TIMEOUT, rows.NETWORK)


def test_nobody_listens_for_mail(send):
    error = caught(send, unused_port())

    assert isinstance(error, ConnectionRefusedError | aiosmtplib.SMTPConnectError)
    assert row_of(error) == rows.UNSENT


def test_a_mail_server_that_greets_with_a_refusal(send):
    with Server(lambda connection: connection.send(b"421 4.3.2 too busy\r\n")) as server:
        error = caught(send, server.port)

    assert isinstance(error, smtplib.SMTPConnectError | aiosmtplib.SMTPConnectError)
    assert row_of(error) == rows.UNSENT
    assert classify(error, now=NOW).http_status is None


def test_a_mail_server_that_does_not_answer_the_door():
    with deaf_port() as port:
        error = caught(send_with_aiosmtplib, port, timeout=0.2)

    assert isinstance(error, aiosmtplib.SMTPConnectTimeoutError)
    assert row_of(error) == rows.TIMEOUT_UNSENT


def test_a_mail_server_that_cannot_do_what_is_asked(send):
    def greets_only(connection):
        connection.send(b"220 hello\r\n")
        while connection.read_line():
            connection.send(b"250 hello\r\n")

    with Server(greets_only) as server:
        error = caught(send, server.port, login=True)

    assert row_of(error) == rows.MISCONFIGURED


def test_what_smtplib_raises_is_an_os_error_and_still_judged_by_its_own_rows():
    with mail_server(data="554 5.7.1 spam") as port:
        error = caught(send_with_smtplib, port)

    assert isinstance(error, OSError)
    assert row_of(error) == rows.POLICY


def test_that_some_recipients_were_refused_is_no_failure(send):
    with mail_server(**{"a@example.test": "550 5.1.1 unknown"}) as port:
        refused = send(port, to=["a@example.test", RECIPIENT])

    found = refused if isinstance(refused, dict) else refused[0]
    assert list(found) == ["a@example.test"]
