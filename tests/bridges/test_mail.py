"""The document of an e-mail: what is let through, and how the field that is wrong is named."""

import pytest

from holdfast.bridges.mail import address_of, checked_mail
from holdfast.errors import InvalidValue
from tests.bridges.wire import MAIL

INJECTIONS = [
    "x\r\nBcc: mallory@example.org",
    "x\nBcc: m@example.org",
    "x\rY: z",
    "x\x00y",
    "x\u2028y",
]


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.org",
        "<ada@example.org>",
        "Ada <ada@example.org>",
        '"Lovelace, Ada" <ada@example.org>',
        "Žofie Černá <zofie@example.org>",
        "ada+reviews@mail.example.org",
        "ada@localhost",
    ],
)
def test_one_address_is_taken_with_or_without_a_name(address):
    mail = checked_mail(MAIL | {"to": address, "from": address})

    assert mail.to == mail.sender == address
    assert address_of(mail.to).count("@") == 1


@pytest.mark.parametrize(
    "address",
    [
        "",
        " ",
        "ada",
        "ada@",
        "@example.org",
        "ada@example.org, bob@example.org",
        "ada@example.org; bob@example.org",
        "Lovelace, Ada <ada@example.org>",
        "team: ada@example.org;",
        "ada@exa mple.org",
        "ada@example.org>",
        "ada@@example.org",
        ["ada@example.org"],
        None,
        7,
        f"{'a' * 1000}@example.org",
        *INJECTIONS,
        *(f"Ada {text} <ada@example.org>" for text in INJECTIONS),
    ],
)
@pytest.mark.parametrize("field", ["to", "from"])
def test_anything_but_one_address_is_refused_by_its_field(field, address):
    with pytest.raises(InvalidValue) as caught:
        checked_mail(MAIL | {field: address})

    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("subject", ["", "  ", None, 7, "s" * 999, *INJECTIONS])
def test_a_subject_is_one_line(subject):
    with pytest.raises(InvalidValue, match="subject"):
        checked_mail(MAIL | {"subject": subject})


@pytest.mark.parametrize("value", INJECTIONS)
def test_a_header_cannot_bring_another_with_it(value):
    with pytest.raises(InvalidValue, match=r"headers\.X-Review"):
        checked_mail(MAIL | {"headers": {"X-Review": value}})
    with pytest.raises(InvalidValue, match="headers"):
        checked_mail(MAIL | {"headers": {value: "17"}})
    with pytest.raises(InvalidValue, match="metadata"):
        checked_mail(MAIL | {"metadata": {"review": value}})
    with pytest.raises(InvalidValue, match="metadata"):
        checked_mail(MAIL | {"metadata": {value: "17"}})


@pytest.mark.parametrize(
    "headers",
    [
        {"To": "x@example.org"},
        {"bcc": "x@example.org"},
        {"Message-ID": "<1@example.org>"},
        {"Content-Type": "text/plain"},
        {"X Y": "z"},
        {"X:": "z"},
        {"": "z"},
        {"X-A": "1", "x-a": "2"},
        {"X-A": 7},
        {"Reply-To": "nobody"},
        {7: "z"},
        "X-A: 1",
        [("X-A", "1")],
    ],
    ids=str,
)
def test_headers_that_are_none_or_not_ours_to_set_are_refused(headers):
    with pytest.raises(InvalidValue, match="headers"):
        checked_mail(MAIL | {"headers": headers})


def test_a_message_needs_text_or_html():
    only_text = checked_mail({key: value for key, value in MAIL.items() if key != "html"})
    only_html = checked_mail({key: value for key, value in MAIL.items() if key != "text"})

    assert (only_text.html, only_html.text) == (None, None)
    with pytest.raises(InvalidValue, match="text"):
        checked_mail(MAIL | {"text": None, "html": ""})
    for flawed in (7, "a\x00b", "\ud800"):
        with pytest.raises(InvalidValue, match="html"):
            checked_mail(MAIL | {"html": flawed})


def test_a_field_that_nobody_knows_is_not_left_out_silently():
    with pytest.raises(InvalidValue, match="message: cc is"):
        checked_mail(MAIL | {"cc": "bob@example.org"})
    with pytest.raises(InvalidValue, match="message"):
        checked_mail([])


def test_a_message_without_headers_and_metadata_is_complete():
    mail = checked_mail({"to": "a@b.c", "from": "d@e.f", "subject": "s", "text": "t"})

    assert (mail.headers, mail.metadata, mail.reply_to) == ({}, {}, None)
