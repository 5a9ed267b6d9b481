"""Parsing in processes of their own: the same mails come of it, and no mail holds it up."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from collabiq.confined.children import Children, MailUnreadable
from collabiq.mail import MAX_MAIL_BYTES, MailTooLarge, NotAMail, clean, parse_mail
from collabiq.samples import mailbox
from collabiq.samples.sample import text_mail

SLOW = b"Subject: bomb\r\nContent-Type: text/html\r\n\r\n" + b"&#1;&lt;" * 1_500_000
"""Ten million characters, each of which is spelt out: parsing them takes seconds."""
PLAIN = text_mail("Lumenkit met Orchard Retail.", subject="Lumenkit x Orchard Retail")


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    made = Children(at_once=1)
    yield made
    made.close()


def test_every_sample_is_parsed_as_it_would_be_here(children: Children):
    for sample in mailbox():
        own = ["alerts@collabiq.example"]

        found = children.parse(sample.raw, own_addresses=own, limit_s=30.0)

        assert found == parse_mail(sample.raw, own_addresses=own), sample.name


def test_texts_are_cleaned_as_they_would_be_here(children: Children):
    texts = [
        "",
        "Hi \ud83d,\n\nThanks\n-- \nKim",
        *(s.raw.decode("latin-1") for s in mailbox()[:9]),
    ]
    for text in texts:
        assert children.clean(text, subject="Fwd: x", limit_s=30.0) == clean(text, subject="Fwd: x")


def test_a_text_that_takes_too_long_to_clean_is_given_up(children: Children):
    with pytest.raises(MailUnreadable, match=r"cleaning this mail takes longer than 0\.2 seconds"):
        children.clean("--\n\n" * 500_000, limit_s=0.2)


def test_a_mail_that_takes_too_long_is_given_up_and_the_next_is_parsed(children: Children):
    began = time.monotonic()
    with pytest.raises(MailUnreadable, match=r"takes longer than 0\.2 seconds"):
        children.parse(SLOW, limit_s=0.2)
    took_s = time.monotonic() - began

    assert children.parse(PLAIN, limit_s=30.0).subject == "Lumenkit x Orchard Retail"
    assert took_s < 4.0, "the process was killed, and nobody waited for it"


def test_a_process_that_has_died_is_replaced(children: Children):
    children.parse(PLAIN, limit_s=30.0)
    [pid] = children.pids
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    assert children.parse(PLAIN, limit_s=30.0).text == "Lumenkit met Orchard Retail."


def test_what_is_no_mail_is_refused_as_it_would_be_here(children: Children):
    with pytest.raises(NotAMail):
        children.parse(b"no header", limit_s=30.0)
    with pytest.raises(MailTooLarge):
        children.parse(b"x" * (MAX_MAIL_BYTES + 1))
