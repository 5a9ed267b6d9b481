"""Extraction without a model, by rules for Korean and English.

It is never sure: whatever it finds is for a person to look at.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from collabiq.extract.dates import first_date
from collabiq.extract.record import (
    MAX_COMPANY,
    MAX_DETAILS,
    MAX_PERSON,
    MAX_SUMMARY,
    Confidence,
    Extraction,
    ExtractTask,
    Intensity,
    cut,
)
from collabiq.mail.text import one_line

NAME: Final = "rules"
SURE: Final = 0.8
"""The most that a rule is sure of."""
_LIKELY: Final = 0.6
_GUESS: Final = 0.4
_MAX_TEXT: Final = 20_000
_MAX_WORDS: Final = 4
_LEGAL_FORMS: Final = frozenset(
    {
        *("inc", "ltd", "llc", "llp", "plc", "corp", "co", "gmbh", "ag", "sa", "bv", "kk", "pte"),
        *("limited", "corporation", "company", "주식회사", "유한회사", "주", "유"),
    }
)
"""Stand beside a name, and are none."""
_SENTENCES: Final = 5

_PREFIX: Final = re.compile(
    r"^(?:\s*(?:re|fwd?|aw|회신|전달|invitation|초대)\s*:|\s*\[[^\]]{0,30}\])+", re.IGNORECASE
)
_BETWEEN: Final = re.compile(
    r"\s+(?:x|\u00d7|\u2715|<>|\u2194|/|-|\u2013|&|and|with)\s+|(?<=[가-힣])[xX\u00d7](?=[가-힣A-Z])"
    r"|(?<=[가-힣a-z])\u00d7|(?<=[가-힣])-(?=[가-힣A-Z])",
    re.IGNORECASE,
)
_KOREAN_PAIR: Final = re.compile(
    r"([가-힣A-Za-z0-9&.]{2,30}?)(?: 팀)?(?:과|와)\s([가-힣A-Za-z0-9&.]{2,30}?)"
    r"(?:이|가|은|는|의|을|를|에서|에)?(?=[\s:,.]|$)"
)
_LATIN_NAME: Final = r"[A-Z][\w&.'-]{1,30}(?:\s[A-Z][\w&.'-]{1,30}){0,3}"
_ENGLISH_PAIR: Final = re.compile(rf"({_LATIN_NAME})\s(?:and|&|with|met|meets)\s({_LATIN_NAME})")
_PEOPLE: Final = (
    (re.compile(r"담당자?\s?[:\uff1a]\s?([가-힣]{2,4})(?=\s|$|[,.(]|님|입니다)"), SURE),
    (re.compile(r"담당자?(?:는|은)\s([가-힣]{2,4}?)(?:입니다|님|\s)"), SURE),
    (re.compile(r"담당자?\s?[:\uff1a]\s?([A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,2})"), SURE),
    (
        re.compile(
            r"(?:contact|person in charge|owner|pic)\s?:\s?([A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,2})",
            re.IGNORECASE,
        ),
        SURE,
    ),
    (
        re.compile(r"(?:^|\n)\s*(?:[가-힣A-Za-z]{2,20}\s)?([가-힣]{2,4})\s(?:드림|올림|배상)"),
        _LIKELY,
    ),
)
_INTENSITIES: Final[tuple[tuple[Intensity, re.Pattern[str]], ...]] = (
    (
        "인수",
        re.compile(
            r"인수(?!인계)|합병|\bacqui(?:re|red|res|sition)\b|\bmerger\b|\bm&a\b", re.IGNORECASE
        ),
    ),
    (
        "투자",
        re.compile(
            r"투자|시리즈\s?[a-c]\b|\binvest(?:s|ed|ment|ments|or)?\b|\bfunding round\b",
            re.IGNORECASE,
        ),
    ),
    (
        "협력",
        re.compile(
            r"파일럿|실증|계약|공동|협력|시험|시범|진행하기로|\bpilot\b|\btrial\b|\bcontract\b|\bpoc\b|\bjoint\b"
            r"|\bagreed?\b|\bdemo\b",
            re.IGNORECASE,
        ),
    ),
    (
        "이해",
        re.compile(
            r"소개|미팅|회의|만나|만납|\bintro(?:duction|duce)?\b|\bexplore\b|\bmeet(?:s|ing)?\b|\bmet\b|\btalk\b",
            re.IGNORECASE,
        ),
    ),
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[다요]\.)\s*|\n+")
_GREETING: Final = re.compile(r"^(?:안녕|hi\b|hello\b|dear\b)", re.IGNORECASE)


class _Pair(NamedTuple):
    startup: str
    partner: str
    confidence: float


def extract_by_rules(task: ExtractTask) -> Extraction:
    """Return what rules find in a mail; no confidence is above 0.8."""
    text = task.text[:_MAX_TEXT]
    pair = _pair_in_subject(task.subject, text) or _pair_in_text(text)
    person, person_confidence = _person(text, task.sender)
    found = first_date(text, sent=task.sent_at.date() if task.sent_at else None)
    details = _details(text, pair)
    return Extraction(
        person_in_charge=person,
        startup_name=one_line(pair.startup, limit=MAX_COMPANY) if pair else None,
        partner_org=one_line(pair.partner, limit=MAX_COMPANY) if pair else None,
        details=details,
        date=found.date if found else None,
        confidence=Confidence(
            person=person_confidence,
            startup=pair.confidence if pair else 0.0,
            partner=pair.confidence if pair else 0.0,
            details=SURE if details else 0.0,
            date=(_LIKELY if found.relative else SURE) if found else 0.0,
        ),
        collaboration_intensity=_intensity(f"{task.subject}\n{text}"),
        summary=cut(" ".join(_sentences(text)[:_SENTENCES]), limit=MAX_SUMMARY),
        extractor=NAME,
    )


def _pair_in_subject(subject: str, text: str) -> _Pair | None:
    """Return two names from a title such as `A x B pilot`; the text says where they end."""
    title = _PREFIX.sub("", subject).strip()
    halves = _BETWEEN.split(title, maxsplit=1)
    if len(halves) != 2:  # noqa: PLR2004 - two of them
        return None
    left, right = halves[0].split(), halves[1].split()
    if not left or not right:
        return None
    lowered = text.lower()
    startups = [" ".join(left[-count:]) for count in _counts(left)]
    partners = [" ".join(right[:count]) for count in _counts(right)]
    startup, partner = _longest(startups, lowered), _longest(partners, lowered)
    confidence = SURE if startup and partner else _LIKELY
    return _Pair(
        _trim(startup or _shortest(startups)), _trim(partner or _shortest(partners)), confidence
    )


def _counts(words: list[str]) -> range:
    return range(min(len(words), _MAX_WORDS), 0, -1)


def _longest(candidates: list[str], lowered: str) -> str | None:
    """Return the longest name that the text has as well; a word such as Inc. alone is none."""
    return next(
        (each for each in candidates if _is_name(each) and each.strip(",:").lower() in lowered),
        None,
    )


def _shortest(candidates: list[str]) -> str:
    """Return the shortest name, with the legal form that belongs to it."""
    return next((each for each in reversed(candidates) if _is_name(each)), candidates[0])


def _is_name(text: str) -> bool:
    return any(word.strip(".,:()").lower() not in _LEGAL_FORMS for word in text.split())


def _trim(name: str) -> str:
    return name.strip(" ,:;.[]()\"'")


def _pair_in_text(text: str) -> _Pair | None:
    found = [match for pattern in (_KOREAN_PAIR, _ENGLISH_PAIR) if (match := pattern.search(text))]
    if not found:
        return None
    first = min(found, key=lambda match: match.start())
    return _Pair(_trim(first[1]), _trim(first[2]), _LIKELY)


def _person(text: str, sender: str) -> tuple[str | None, float]:
    for pattern, confidence in _PEOPLE:
        found = pattern.search(text)
        if found is not None:
            return one_line(found[1], limit=MAX_PERSON), confidence
    name = one_line(sender, limit=MAX_PERSON)
    return (name, _GUESS) if name else (None, 0.0)


def _intensity(text: str) -> Intensity | None:
    return next((name for name, pattern in _INTENSITIES if pattern.search(text)), None)


def _sentences(text: str) -> list[str]:
    found = (each.strip() for each in _SENTENCE.split(text))
    return [each for each in found if each and not _GREETING.match(each)]


def _details(text: str, pair: _Pair | None) -> str:
    """Return the paragraph about the two, word for word, or the first that says something."""
    paragraphs = [each.strip() for each in text.split("\n\n") if each.strip()]
    wanted = (pair.startup.lower(), pair.partner.lower()) if pair else ()
    about = [each for each in paragraphs if any(name in each.lower() for name in wanted)]
    telling = [each for each in paragraphs if not _GREETING.match(each)]
    chosen = [each for each in about if not _GREETING.match(each)] or about or telling or paragraphs
    return cut(chosen[0], limit=MAX_DETAILS) if chosen else ""
