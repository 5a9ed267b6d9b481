"""SMTP: what a mail server gets, and what is known when it breaks off at every step."""

import logging
import re
import time
import traceback

import pytest

from holdfast.bridges.smtp import Smtp
from holdfast.classify import classify
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import InvalidValue
from tests.bridges.fake_mail_server import (
    PASSWORD,
    STEPS,
    USERNAME,
    BreakingServer,
    MailLedger,
    drips,
    mail_server,
    says,
    trusted_tls,
)
from tests.bridges.wire import MAIL
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import LOOPBACK, Connection, deaf_port, unused_port

TIMEOUT_S = 5
BEFORE_DATA = STEPS[:-2]
FROM_DATA_ON = STEPS[-2:]
ADA = "ada@example.org"


def now() -> Instant:
    return Instant(1_900_000_000 * SECOND_US)


def local(port: int, **options) -> Smtp:
    return Smtp(LOOPBACK, port, security="none", now=now, **options)


def test_nothing_is_promised():
    promise = Smtp("mail.example.org").promise

    assert (promise.dedupes_for, promise.lookup_lag) == (None, None)


def test_an_email_arrives_with_both_its_bodies_and_its_headers():
    ledger = MailLedger()
    with mail_server(ledger) as port:
        evidence = local(port).send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    ((sender, recipient, message),) = ledger.accepted
    assert (sender, recipient) == ("reviews@example.org", ADA)
    assert message["From"] == "Reviews <reviews@example.org>"
    assert message["To"] == "Ada <ada@example.org>"
    assert message["Subject"] == "Your review is ready"
    assert message["Reply-To"] == "team@example.org"
    assert message["X-Review"] == "17"
    assert message["Message-ID"] == evidence.notification_id == "<t-1@example.org>"
    assert message["Date"] == "Sun, 17 Mar 2030 17:46:40 +0000"
    text, html = message.iter_parts()
    assert text.get_content().strip() == "It is ready."
    assert html.get_content_type() == "text/html"
    assert html.get_content().strip() == "<p>It is ready.</p>"


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Straße, 東京, 🙂\n.\n..dots\n"},
        {"text": "x" * 5_000, "html": None},
        {"text": None, "html": "<p>Grüße</p>"},
        {"to": "Žofie Černá <ada@example.org>", "subject": "Příliš žluťoučký kůň " * 20},
        {"headers": {"List-Unsubscribe": f"<https://example.org/{'u' * 400}>"}},
    ],
    ids=["letters and dots", "a long line", "html alone", "names", "a long link"],
)
def test_what_is_written_is_what_is_read(changes):
    ledger = MailLedger()
    with mail_server(ledger) as port:
        local(port).send(MAIL | changes, token="t-1", timeout_s=TIMEOUT_S)

    ((_, _, message),) = ledger.accepted
    body = message.get_body(("plain", "html")).get_content()
    wanted = (MAIL | changes)["text"] or (MAIL | changes)["html"]
    assert body.replace("\r\n", "\n").strip() == wanted.strip()
    assert message["Subject"].split() == (MAIL | changes)["subject"].split()
    assert message["List-Unsubscribe"] == (MAIL | changes)["headers"].get("List-Unsubscribe")
    assert all(line.isascii() and len(line) <= 998 for line in ledger.raw[0].splitlines())


def test_a_long_link_in_a_header_stays_in_one_piece():
    ledger = MailLedger()
    link = f"<https://example.org/{'u' * 400}?{'v' * 100}>"
    with mail_server(ledger) as port:
        message = MAIL | {"headers": {"List-Unsubscribe": link}}
        local(port).send(message, token="t-1", timeout_s=TIMEOUT_S)

    assert f"\r\nList-Unsubscribe: {link}\r\n".encode() in ledger.raw[0]


@pytest.mark.parametrize("token", ["t-1", "a-strange/token~of+its=own"])
def test_every_try_of_a_delivery_has_the_same_message_id(token):
    ledger = MailLedger()
    with mail_server(ledger) as port:
        first = local(port).send(MAIL, token=token, timeout_s=TIMEOUT_S)
        again = local(port).send(MAIL, token=token, timeout_s=TIMEOUT_S)
        other = local(port).send(MAIL, token=f"{token}-2", timeout_s=TIMEOUT_S)

    ids = [message["Message-ID"] for _, _, message in ledger.accepted]
    assert ids == [first.notification_id, again.notification_id, other.notification_id]
    assert ids[0] == ids[1] != ids[2]
    assert all(re.fullmatch(r"<[\w-]+@example\.org>", each) for each in ids)


def test_bounces_go_where_they_are_told_to():
    ledger = MailLedger()
    with mail_server(ledger) as port:
        local(port, bounces_to="bounces@example.org").send(MAIL, token="t", timeout_s=TIMEOUT_S)

    assert ledger.accepted[0][0] == "bounces@example.org"


REFUSALS = {
    "550 5.1.1 no such user": rows.NOT_FOUND,
    "550 5.7.1 blocked": rows.POLICY,
    "452 4.2.2 mailbox full": rows.RATE_LIMITED,
    "421 4.3.2 shutting down": retried("UPSTREAM_5XX", known=True, blames=True),
    "553 5.1.3 odd name": rows.INVALID,
    "550 5.4.5 Daily user sending limit exceeded": rows.QUOTA,
}


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_recipient_that_is_refused_is_refused_alone(reply):
    ledger = MailLedger({ADA: reply})
    with mail_server(ledger) as port:
        refused = caught(local(port).send, MAIL, token="t-1", timeout_s=TIMEOUT_S)
        local(port).send(MAIL | {"to": "bob@example.org"}, token="t-2", timeout_s=TIMEOUT_S)

    failure = classify(refused, now=NOW)
    assert row_of(refused) == REFUSALS[reply]
    assert failure.http_status is None
    assert [recipient for _, recipient, _ in ledger.accepted] == ["bob@example.org"]


@pytest.mark.parametrize("step", ["mail", "data"])
@pytest.mark.parametrize("reply", REFUSALS)
def test_a_reply_is_an_answer_at_every_step(step, reply):
    ledger = MailLedger({step: reply})
    with mail_server(ledger) as port:
        refused = caught(local(port).send, MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert row_of(refused) == REFUSALS[reply]
    assert ledger.accepted == []


def goes_silent(connection: Connection) -> None:
    connection.hang()


def resets(connection: Connection) -> None:
    connection.reset()


def closes(connection: Connection) -> None:
    """Ends the connection without a word."""


BREAKS = {
    "silence": (goes_silent, rows.TIMEOUT, rows.TIMEOUT_UNSENT),
    "a byte at a time": (drips, rows.TIMEOUT, rows.TIMEOUT_UNSENT),
    "reset": (resets, rows.NETWORK, rows.UNSENT),
    "closed": (closes, rows.NETWORK, rows.UNSENT),
}


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("step", STEPS)
def test_only_from_the_message_on_is_the_outcome_unknown(step, how):
    breaks, unknown, unsent = BREAKS[how]
    breaking = BreakingServer(step, breaks)
    began_s = time.monotonic()
    with breaking.serving() as server:
        error = caught(local(server.port).send, MAIL, token="t-1", timeout_s=0.5)

        assert server.connections == 1

    assert row_of(error) == (unknown if step in FROM_DATA_ON else unsent)
    # Its limit is half a second, the server's silence has none; a busy machine needs the rest.
    assert time.monotonic() - began_s < 10


@pytest.mark.parametrize("reply", ["nonsense", "200 what", "354 go on"])
def test_a_reply_that_means_nothing_leaves_the_outcome_unknown_after_the_message(reply):
    rows_found = {}
    for step in ("RCPT", "body"):
        with BreakingServer(step, says(reply)).serving() as server:
            error = caught(local(server.port).send, MAIL, token="t", timeout_s=TIMEOUT_S)
        rows_found[step] = row_of(error)

    assert rows_found["RCPT"] == rows.ANSWER_INVALID
    assert rows_found["body"] == retried("INVALID", known=False, blames=True, attempts=2)


def test_a_goodbye_that_hangs_does_not_undo_what_was_accepted():
    def accepts_and_hangs(connection: Connection) -> None:
        connection.send(b"250 queued\r\n")
        connection.hang()

    with BreakingServer("body", accepts_and_hangs).serving() as server:
        evidence = local(server.port).send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert evidence.notification_id == "<t-1@example.org>"


def test_what_was_never_sent_is_known_not_to_be_accepted():
    refused = caught(local(unused_port()).send, MAIL, token="t", timeout_s=TIMEOUT_S)
    with deaf_port() as port:
        deaf = caught(local(port).send, MAIL, token="t", timeout_s=0.2)

    assert row_of(refused) == rows.UNSENT
    assert row_of(deaf) == rows.TIMEOUT_UNSENT


def with_login(port: int, **options) -> Smtp:
    login = {"username": USERNAME, "password": PASSWORD, "tls": trusted_tls().client}
    return Smtp(LOOPBACK, port, **(login | options))


def test_a_server_with_starttls_is_logged_in_to():
    ledger = MailLedger()
    with mail_server(ledger, starttls=True) as port:
        with_login(port).send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert len(ledger.accepted) == 1
    assert ledger.logins == [PASSWORD.encode()]


def test_a_server_with_tls_from_the_first_byte_is_logged_in_to():
    ledger = MailLedger()
    with mail_server(ledger, implicit_tls=True) as port:
        with_login(port, security="tls").send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert len(ledger.accepted) == 1


def test_a_server_without_starttls_is_told_nothing():
    ledger = MailLedger()
    with mail_server(ledger) as port:
        error = caught(with_login(port).send, MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert row_of(error) == rows.MISCONFIGURED
    assert (ledger.accepted, ledger.logins) == ([], [])


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_that_nobody_vouches_for_is_not_passed_by_waiting(security):
    ledger = MailLedger()
    with mail_server(
        ledger, starttls=security == "starttls", implicit_tls=security == "tls"
    ) as port:
        provider = Smtp(LOOPBACK, port, security=security)
        error = caught(provider.send, MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert row_of(error) == rows.AUTH
    assert ledger.accepted == []


def test_a_password_that_is_rotated_is_used_from_the_next_call_on():
    ledger = MailLedger()
    passwords = ["Old8wKq2VnTz5Lpd"]
    with mail_server(ledger, starttls=True) as port:
        provider = with_login(port, password=lambda: passwords[-1])
        old = caught(provider.send, MAIL, token="t-1", timeout_s=TIMEOUT_S)
        passwords.append(PASSWORD)
        provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert row_of(old) == rows.AUTH
    assert len(ledger.accepted) == 1


def test_the_password_is_seen_by_the_server_alone(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.NOTSET)
    ledger = MailLedger({"mail": "550 5.7.1 no"})
    with mail_server(ledger, starttls=True) as port:
        provider = with_login(port)
        caplog.clear()
        error = caught(provider.send, MAIL, token="t-1", timeout_s=TIMEOUT_S)

    told = [repr(provider), str(vars(provider)), "".join(traceback.format_exception(error))]
    # What the fake server itself logs is not ours.
    ours = [
        record.getMessage()
        for record in caplog.records
        if "aiosmtpd" not in record.name and not record.name.startswith("mail")
    ]
    assert [text for text in (*told, *ours) if PASSWORD in text] == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"security": "ssl"}, "security"),
        ({"username": "me"}, "username"),
        ({"password": "secret"}, "username"),
        ({"username": "me", "password": "secret", "security": "none"}, "security"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, field):
    with pytest.raises(InvalidValue) as refused:
        Smtp("mail.example.org", **options)

    assert refused.value.field == field
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("field", ["to", "from"])
def test_an_address_that_smtp_cannot_carry_is_refused_by_its_field(field):
    with pytest.raises(InvalidValue) as refused:
        Smtp("mail.example.org").check(MAIL | {field: "ada@bücher.example"})

    assert refused.value.field == field
