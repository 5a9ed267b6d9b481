import pytest

from collabiq.mail import clean
from collabiq.mail.text import one_line


def kinds(cleaned) -> list[str]:
    return [each.kind for each in cleaned.removed]


@pytest.mark.parametrize(
    "heading",
    [
        "On Mon, Nov 3, 2025 at 9:00 AM Emma <e@x.example> wrote:",
        "On 3 Nov 2025, at 09:00, Emma Clarke\n<emma@x.example> wrote:",
        "2025년 11월 3일 (월) 오전 9:00, 김도윤 <d@x.example>님이 작성:",
        "-----Original Message-----",
        "----- 원본 메일 -----\n보낸사람: 김도윤",
        "From: Emma\nSent: Monday, November 3, 2025\nTo: David\nSubject: plans",
        "________________________________\nFrom: Emma\nDate: Monday\nTo: David\nSubject: plans",
        "보낸 사람: 김도윤\n보낸 날짜: 2025년 11월 3일\n받는 사람: 이서연\n제목: 일정",
    ],
)
def test_history_under_a_heading_is_cut_off(heading):
    cleaned = clean(f"The answer is yes, we will come.\n\n{heading}\n\nold words\n\nolder words\n")

    assert cleaned.text == "The answer is yes, we will come."
    assert kinds(cleaned) == ["quote"]
    assert "older words" in cleaned.removed[0].text


def test_answers_among_quoted_lines_stay():
    cleaned = clean("> first?\n\nyes\n\n>> older\n> second?\n\nno\n")

    assert cleaned.text == "yes\n\nno"


def test_a_line_that_only_looks_like_a_heading_stays():
    text = "As the team wrote:\n\nWe start in May.\n\nFrom: the kitchen\nTo: the hall we carry it."

    assert clean(text).text == text


def test_what_a_mail_forwards_belongs_to_it_and_what_that_answered_does_not():
    text = (
        "FYI\n\n-----Original Message-----\nFrom: Emma\nSent: Monday\nTo: David\nSubject: plans\n\n"
        "the plan itself\n\n-----Original Message-----\nFrom: Zoe\nSent: Sunday\nTo: Emma\n\nold\n"
    )

    forwarded, answered = clean(text, subject="FW: plans"), clean(text, subject="RE: plans")

    assert forwarded.text == "FYI\n\nthe plan itself"
    assert kinds(forwarded) == ["forward_header", "quote"]
    assert answered.text == "FYI"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "We meet.\n\nBest regards,\nEmma\n\nCEO, X Ltd\nTel: 02-555-0100",
            "We meet.\n\nBest regards,\nEmma",
        ),
        (
            "만납니다.\n\n감사합니다.\n김도윤 드림\n010-1234-5678\nd@x.example",
            "만납니다.\n\n감사합니다.\n김도윤 드림",
        ),
        ("만납니다.\n\n김도윤 팀장\nMobile: 010-1234-5678\nwww.x.example", "만납니다."),
        ("We meet.\n-- \nEmma\nanything at all", "We meet."),
        ("We meet.\n\n나의 iPhone에서 보냄", "We meet."),
        (
            "Call me at 010-1234-5678 tomorrow, please.",
            "Call me at 010-1234-5678 tomorrow, please.",
        ),
        (
            "We meet.\n\nThanks,\nWe also need a room for ten people there.",
            "We meet.\n\nThanks,\nWe also need a room for ten people there.",
        ),
    ],
)
def test_a_signature_goes_and_the_name_stays(text, left):
    assert clean(text).text == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "감사합니다.",
        "안녕하세요.\n감사합니다.\n김도윤 드림",
        "> only a quote",
        "Hi,\n\nThanks!",
    ],
)
def test_a_mail_that_says_nothing_is_empty(text):
    assert clean(text).empty


@pytest.mark.parametrize("text", ["네, 좋습니다", "OK for Monday", "가나다"])
def test_a_mail_of_few_words_is_not_empty(text):
    assert not clean(text).empty


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("오늘 회의합니다", "ko"),
        ("오늘 AI 회의합니다", "ko"),
        ("We meet today", "en"),
        ("We meet 서하백화점 today", "mixed"),
        ("今日は会議です", "other"),
        ("123 !?", "none"),
    ],
)
def test_the_language_is_told_by_the_letters(text, language):
    assert clean(text).language == language


def test_a_title_is_one_line_of_visible_characters():
    assert one_line("a\u202eb\u200b\n\tc\x00 \ufeffd\ud83d", limit=20) == "ab c d\ufffd"
    assert one_line("abcdef", limit=3) == "abc"
