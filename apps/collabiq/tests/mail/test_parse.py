from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collabiq.mail import MAX_MAIL_BYTES, MailTooLarge, NotAMail, parse_mail
from collabiq.samples.sample import message, parts, text_mail, text_part

TOP = b"From: a@x.example\r\nSubject: s\r\n"


def nested(depth: int, kind: bytes = b"multipart/mixed") -> bytes:
    """A mail of parts within parts."""
    top = b"".join(
        b"Content-Type: %s; boundary=b%d\r\n\r\n--b%d\r\n" % (kind, level, level)
        for level in range(depth)
    )
    return TOP + top + b"Content-Type: text/plain\r\n\r\nat the bottom\r\n"


@pytest.mark.parametrize("raw", [b"", b"\r\n\r\n", b"hello there\nhow are you", b"\x00\x01\x02"])
def test_what_has_no_header_is_no_mail(raw):
    with pytest.raises(NotAMail):
        parse_mail(raw)


def test_a_mail_of_more_than_25_mb_is_not_read():
    with pytest.raises(MailTooLarge) as refused:
        parse_mail(TOP + b"\r\n" + b"x" * MAX_MAIL_BYTES)

    assert refused.value.limit_bytes == 25 * 1024 * 1024


def test_twenty_levels_are_read():
    mail = parse_mail(nested(20))

    assert (mail.text, mail.limits_met) == ("at the bottom", ())


def test_deeper_levels_are_left_out_and_named():
    mail = parse_mail(nested(21))

    assert (mail.text, mail.limits_met) == ("", ("depth",))


def test_a_thousand_levels_are_no_trouble():
    assert parse_mail(nested(1_000)).limits_met == ("depth",)


def test_mails_within_mails_count_as_levels():
    inner = b"Content-Type: message/rfc822\r\n\r\n" * 200 + b"Subject: x\r\n\r\nat the bottom"

    mail = parse_mail(TOP + inner)

    assert mail.limits_met == ("depth",)
    assert "at the bottom" not in mail.text


def test_five_hundred_parts_are_read_and_the_rest_named():
    body = parts("p", *(text_part(f"part {number}.") for number in range(1_000)))

    mail = parse_mail(message(subject="s", body=body, content_type="multipart/mixed; boundary=p"))

    assert "part 499." in mail.text
    assert "part 500." not in mail.text
    assert mail.limits_met == ("parts",)


def test_a_last_boundary_may_be_missing():
    body = b"--p\r\nContent-Type: text/plain\r\n\r\nfirst\r\n--p\r\n\r\nsecond"

    mail = parse_mail(TOP + b"Content-Type: multipart/mixed; boundary=p\r\n\r\n" + body)

    assert mail.text == "first\n\nsecond"


def test_a_boundary_that_begins_like_another_is_another():
    body = b"--p\r\n\r\nfirst\r\n--pq\r\nstill first\r\n--p--\r\nnot read"

    mail = parse_mail(TOP + b"Content-Type: multipart/mixed; boundary=p\r\n\r\n" + body)

    assert mail.text == "first\n--pq\nstill first"


def test_a_multipart_without_parts_is_text():
    assert parse_mail(TOP + b"Content-Type: multipart/mixed\r\n\r\njust text").text == "just text"


def test_a_huge_header_is_read_in_part():
    raw = b"Subject: first\r\n" + b"X-Long: y\r\n" * 300_000 + b"\r\nbody"

    mail = parse_mail(raw)

    assert (mail.subject, mail.text) == ("first", "body")


@pytest.mark.parametrize(
    ("header", "date"),
    [
        ("Mon, 03 Nov 2025 09:30:00 +0900", datetime(2025, 11, 3, 0, 30, tzinfo=UTC)),
        ("Mon, 03 Nov 2025 09:30:00 -0000", datetime(2025, 11, 3, 9, 30, tzinfo=UTC)),
        ("Mon, 03 Nov 99999 09:30:00 +0900", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_date_is_read_or_is_none(header, date):
    assert parse_mail(text_mail("x", subject="s", date=header)).date == date


def test_a_name_keeps_its_comma_and_its_charset():
    sender = '"=?euc-kr?B?sei1tcCx?=, 소리담" <d@x.example>'

    mail = parse_mail(text_mail("x", subject="s", sender=sender))

    assert mail.sender == ("김도윤, 소리담", "d@x.example")


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        (["mx.google.com; dkim=pass header.i=@x; spf=pass; dmarc=pass"], "pass"),
        (["mx.google.com; spf=pass; dmarc=fail (p=REJECT)"], "fail"),
        (["mx.google.com; spf=softfail"], "fail"),
        (["mx.google.com; spf=neutral"], "none"),
        (["evil.example; dmarc=pass"], "none"),
        ([], "none"),
    ],
)
def test_only_what_gmail_says_about_a_sender_counts(fields, verdict):
    extra = [f"Authentication-Results: {field}" for field in fields]

    assert parse_mail(text_mail("x", subject="s", extra=extra)).authentication == verdict


def test_a_mail_from_an_own_address_is_automatic():
    raw = text_mail("x", subject="s", sender="Alerts <Alerts@own.example>")

    assert parse_mail(raw, own_addresses=["alerts@OWN.example"]).automatic == "own"
    assert parse_mail(raw).automatic is None


def test_the_name_of_an_attachment_is_no_path():
    body = parts(
        "p",
        b'Content-Type: text/plain\r\nContent-Disposition: attachment; filename="..\\../etc/x.txt"'
        b"\r\n\r\nsecret",
    )

    mail = parse_mail(message(subject="s", body=body, content_type="multipart/mixed; boundary=p"))

    assert [each.name for each in mail.attachments] == ["x.txt"]
    assert "secret" not in mail.text


@given(st.binary(max_size=400))
def test_no_bytes_make_it_fail(noise):
    for raw in (
        TOP + noise,
        TOP + b"\r\n" + noise,
        b"Subject: " + noise + b"\r\n\r\nx",
        b"Content-Type: " + noise + b"\r\nContent-Disposition: " + noise + b"\r\n\r\nx",
        b"From: " + noise + b"\r\nDate: " + noise + b"\r\n\r\nx",
        TOP + b"Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n" + noise,
        TOP + b"Content-Type: text/html\r\n\r\n<p " + noise,
        TOP + b"Content-Transfer-Encoding: base64\r\n\r\n" + noise,
    ):
        mail = parse_mail(raw)

        texts = mail.subject + mail.text + mail.sender.name + mail.message_id
        assert texts.encode().decode() == texts
