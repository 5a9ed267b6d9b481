"""Dates in mails, in Korean and English, some of them relative to the day of the mail."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final, NamedTuple

_WEEKDAYS: Final = "월화수목금토일"
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_MONTH: Final = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_RELATIVE: Final = {
    "그저께": -2,
    "어제": -1,
    "yesterday": -1,
    "오늘": 0,
    "금일": 0,
    "today": 0,
    "내일": 1,
    "명일": 1,
    "tomorrow": 1,
    "모레": 2,
}
_MAX_TEXT: Final = 20_000


class FoundDate(NamedTuple):
    """A date, where it was found, and whether it needed the day of the mail."""

    date: date
    at: int
    relative: bool


Reading = Callable[["re.Match[str]", "date | None"], "date | None"]


def first_date(text: str, *, sent: date | None) -> FoundDate | None:
    """Return the date that comes first in a text; `sent` is the day of the mail."""
    text = text[:_MAX_TEXT]
    best: FoundDate | None = None
    for pattern, reading, relative in _FORMS:
        for match in pattern.finditer(text):
            if best is not None and match.start() >= best.at:
                break
            found = reading(match, sent)
            if found is not None:
                best = FoundDate(found, match.start(), relative)
                break
    return best


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _full(match: re.Match[str], _sent: date | None) -> date | None:
    return _day(int(match[1]), int(match[2]), int(match[3]))


def _near(month: int, day: int, sent: date | None, weekday: int | None = None) -> date | None:
    """Return a day without its year: the nearest, or the one that is on the weekday."""
    if sent is None:
        return None
    years = (sent.year - 1, sent.year, sent.year + 1)
    found = [each for year in years if (each := _day(year, month, day)) is not None]
    if weekday is not None:
        found = [each for each in found if each.weekday() == weekday] or found
    return min(found, key=lambda each: abs((each - sent).days), default=None)


def _month_day(match: re.Match[str], sent: date | None) -> date | None:
    return _near(int(match[1]), int(match[2]), sent)


def _slash(match: re.Match[str], sent: date | None) -> date | None:
    weekday = _WEEKDAYS.index(match[3]) if match[3] else None
    return _near(int(match[1]), int(match[2]), sent, weekday)


def _week(match: re.Match[str], sent: date | None) -> date | None:
    """Return the first day of a week of a month; the first week begins on the first."""
    return _near(int(match[1]), 1 + 7 * (int(match[2]) - 1), sent)


def _english(match: re.Match[str], sent: date | None) -> date | None:
    return _named(match[1], match[2], match[3], sent)


def _english_day_first(match: re.Match[str], sent: date | None) -> date | None:
    return _named(match[2], match[1], match[3], sent)


def _named(month: str, day: str, year: str | None, sent: date | None) -> date | None:
    number = _MONTHS.index(month[:3].lower()) + 1
    return _day(int(year), number, int(day)) if year else _near(number, int(day), sent)


def _relative(match: re.Match[str], sent: date | None) -> date | None:
    return sent + timedelta(days=_RELATIVE[match[0].lower()]) if sent else None


def _next_english(match: re.Match[str], sent: date | None) -> date | None:
    if sent is None:
        return None
    ahead = (_DAYS.index(match[2].lower()) - sent.weekday()) % 7
    if match[1].lower() == "next":
        ahead = ahead or 7
    return sent + timedelta(days=ahead)


def _next_korean(match: re.Match[str], sent: date | None) -> date | None:
    if sent is None:
        return None
    weeks = {"이번": 0, "금": 0, "다음": 1, "차": 1, "다다음": 2, "지난": -1}[match[1]]
    monday = sent - timedelta(days=sent.weekday())
    return monday + timedelta(days=7 * weeks + _WEEKDAYS.index(match[2]))


_FORMS: Final[tuple[tuple[re.Pattern[str], Reading, bool], ...]] = (
    (re.compile(r"(?<!\d)(20\d\d)[-./](\d{1,2})[-./](\d{1,2})(?!\d)"), _full, False),
    (re.compile(r"(20\d\d)년\s?(\d{1,2})월\s?(\d{1,2})일"), _full, False),
    (re.compile(r"(?<![\d년])(\d{1,2})월\s?(\d{1,2})일"), _month_day, False),
    (re.compile(r"(\d{1,2})월\s?(?:제\s?)?([1-5])\s?(?:주차|째\s?주|주(?!년))"), _week, False),
    (re.compile(rf"\b{_MONTH}\.?\s{_DAY}\b(?:,?\s(20\d\d))?", re.IGNORECASE), _english, False),
    (
        re.compile(rf"\b{_DAY}\s{_MONTH}\b\.?(?:,?\s(20\d\d))?", re.IGNORECASE),
        _english_day_first,
        False,
    ),
    (
        re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/])(?:\s?\(([월화수목금토일])\))?"),
        _slash,
        False,
    ),
    (re.compile("|".join(_RELATIVE), re.IGNORECASE), _relative, True),
    (re.compile(rf"\b(next|this)\s({'|'.join(_DAYS)})\b", re.IGNORECASE), _next_english, True),
    (
        re.compile(r"(다다음|다음|이번|지난|차|금)\s?주\s?([월화수목금토일])요일"),
        _next_korean,
        True,
    ),
)
