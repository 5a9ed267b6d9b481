from datetime import date

import pytest

from collabiq.extract.dates import first_date

SENT = date(2025, 11, 3)  # a Monday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-12-01에", "2025-12-01"),
        ("2025.12.1", "2025-12-01"),
        ("2025년 11월 1일", "2025-11-01"),
        ("2024년11월1일", "2024-11-01"),
        ("11월 12일", "2025-11-12"),
        ("1월 5일", "2026-01-05"),
        ("12월 30일", "2025-12-30"),
        ("11월 1주", "2025-11-01"),
        ("11월 2주차", "2025-11-08"),
        ("11월 셋째 11월 3째 주", "2025-11-15"),
        ("11/7(금)", "2025-11-07"),
        ("11/3(금)", "2025-11-03"),
        ("11/3(일)", "2024-11-03"),
        ("12/24", "2025-12-24"),
        ("November 12, 2025", "2025-11-12"),
        ("Nov. 12th", "2025-11-12"),
        ("12 November 2026", "2026-11-12"),
        ("on 5 Dec we", "2025-12-05"),
        ("어제", "2025-11-02"),
        ("yesterday", "2025-11-02"),
        ("Tomorrow", "2025-11-04"),
        ("모레", "2025-11-05"),
        ("next Monday", "2025-11-10"),
        ("this Friday", "2025-11-07"),
        ("다음 주 월요일", "2025-11-10"),
        ("다음주 금요일", "2025-11-14"),
        ("이번 주 수요일", "2025-11-05"),
        ("지난주 금요일", "2025-10-31"),
        ("11월 12일 다음에 2025-12-01", "2025-11-12"),
        ("13월 40일, then 2025-02-30, then 2025-03-01", "2025-03-01"),
    ],
)
def test_a_date_is_read_as_of_the_day_of_the_mail(text, expected):
    found = first_date(text, sent=SENT)

    assert found is not None
    assert found.date.isoformat() == expected


@pytest.mark.parametrize("text", ["", "4주간 진행", "010-1234-5678", "1/2/3/4", "may I", "50/50"])
def test_what_is_no_date_is_none(text):
    assert first_date(text, sent=SENT) is None


@pytest.mark.parametrize("text", ["11월 12일", "tomorrow", "next Monday", "11/7(금)", "11월 1주"])
def test_without_the_day_of_the_mail_only_whole_dates_are_read(text):
    assert first_date(text, sent=None) is None
    assert first_date(f"{text}, 2025-12-01", sent=None).date == date(2025, 12, 1)
