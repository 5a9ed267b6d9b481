"""What a mail says of a review."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from criticizer.critique import Critique, Finding
from criticizer.mail.message import MAX_SHOWN, message_of
from criticizer.payload import Review
from holdfast.bridges.mail import checked_mail

REVIEW = Review(changelist_id="cl-17", review_version=3, recipients=["ada@example.org"])
NASTY = '<script>alert("x")</script>'


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append(tag)
        self.seen += [f"{tag}.{name}" for name, _ in attrs]


def finding(**changed):
    usual = {
        "file": "rope.py",
        "line": 2,
        "severity": "warning",
        "message": "Never used.",
        "suggestion": None,
    }
    return Finding(**{**usual, **changed})


def mail(*findings, summary="All in all fine.", title="Add a loop", url=None):
    return message_of(
        REVIEW,
        critique=Critique(summary=summary, findings=list(findings)),
        title=title,
        url=url,
        reviewer="offline",
        sender="Reviews <reviews@example.org>",
    )


def test_it_names_the_change_its_version_and_every_finding_with_its_place():
    text = mail(finding(), finding(line=None, severity="error", suggestion="loop = 2"))["text"]

    assert text.splitlines()[:2] == ["Add a loop", "Change cl-17, version 3"]
    assert "▲ rope.py:2: Never used." in text
    assert "✖ rope.py: Never used.\n    loop = 2" in text
    assert text.endswith("Reviewed by offline.")


def test_a_review_gives_the_same_mail_every_time():
    assert mail(finding()) == mail(finding())


def test_the_subject_counts_and_is_one_line():
    assert mail()["subject"] == "Review of Add a loop (no findings)"
    assert mail(finding())["subject"] == "Review of Add a loop (1 finding)"
    assert "\n" not in mail(title="One\r\nBcc: eve@example.org")["subject"]


def test_what_a_change_or_a_model_says_is_never_read_as_html():
    tags = Tags()
    tags.feed(
        mail(
            finding(message=NASTY, file=NASTY, suggestion=NASTY),
            summary=NASTY,
            title=NASTY,
            url="javascript:alert(1)",
        )["html"]
    )

    assert "script" not in tags.seen
    assert "a" not in tags.seen


def test_the_change_is_linked_where_it_can_be_looked_at():
    html = mail(url="https://git.example.org/?a=1&b=2")["html"]

    assert 'href="https://git.example.org/?a=1&amp;b=2"' in html


def test_a_mail_has_an_end_however_much_was_found():
    text = mail(*[finding(line=n + 1) for n in range(MAX_SHOWN + 7)])["text"]

    assert text.count("Never used.") == MAX_SHOWN
    assert "… and 7 more." in text


PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1)
"""What reviewers say holds no control characters."""


@given(PLAIN, st.text())
def test_whatever_was_said_the_mail_can_be_sent(summary, title):
    made = mail(finding(message=summary[:100] or "x"), summary=summary, title=title)

    checked_mail({**made, "to": "ada@example.org"})
