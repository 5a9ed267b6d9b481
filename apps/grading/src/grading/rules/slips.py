"""Mistakes of grammar that a pattern can find without knowing what was meant."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from grading.scoring.evidence import ErrorFound
from grading.scoring.texts.listed import listed

MAX_SLIPS: Final = 40
_BASE: Final = (
    "ask|buy|come|do|eat|feel|get|give|go|have|help|know|like|live|love|make|need|play|say|see|"
    "sell|speak|take|tell|think|throw|use|want|work"
)
_PAST: Final = "went|saw|had|was|were|came|took|made|did|got|gave|told|said|bought|ate|knew"
_MODAL: Final = "can|could|will|would|should|must|may|might"
_THING: Final = (
    "advantage|book|bottle|car|child|city|company|country|day|friend|game|house|job|lesson|man|"
    "person|phone|place|problem|reason|room|school|street|student|thing|tourist|way|week|woman|year"
)
_AFTER: Final = frozenset(
    listed(
        "and can could did do does had has have help helped helps if is let lets made make makes "
        "may might must or please see should that to was will would"
    )
)
"""Words after which `he go` may be right, as in `let it go`."""


class _Slip(NamedTuple):
    pattern: re.Pattern[str]
    message: str
    suggestion: str | None = None
    is_third_person: bool = False
    for_writing: bool = False
    is_cased: bool = False
    """Whether capitals make a difference."""


def _slip(pattern: str, message: str, suggestion: str | None = None, **kinds: bool) -> _Slip:
    cased = kinds.get("for_writing") or kinds.get("is_cased")
    flags = re.ASCII if cased else re.ASCII | re.IGNORECASE
    return _Slip(re.compile(pattern, flags), message, suggestion, **kinds)


_SLIPS: Final = (
    _slip(
        rf"\b(?:he|she|it)[ ](?:{_BASE})\b",
        "After he, she and it the verb takes an s.",
        is_third_person=True,
    ),
    _slip(r"\b(?:he|she|it)[ ]don'?t\b", "After he, she and it: does not.", "doesn't"),
    _slip(r"\b(?:people|they|we|you)[ ](?:is|was|has|goes|does)\b", "Plural: are, were, have."),
    _slip(
        r"\bmy[ ](?:\w{2,12}[ ])?(?:uncle|aunt|mother|father|boss|friend|wife|husband|brother|"
        r"sister|teacher)[ ](?:have|go|do|like|want|speak|sell|don't|dont)\b",
        "After one person the verb takes an s.",
    ),
    _slip(
        r"\b(?:website|room|road|hotel|teacher|school|phone)[ ](?:have|say|go|do)\b",
        "After one thing or person the verb takes an s.",
    ),
    _slip(
        r"\b(?:informations|advices|equipments|furnitures|homeworks|knowledges|childrens|luggages|"
        r"traffics|pollutions|peoples)\b",
        "This noun has no such plural.",
    ),
    _slip(
        r"\b(?:more|most)[ ](?:better|worse|easier|cheaper|faster|bigger|older|younger|happier|"
        r"best)\b",
        "The comparison is made twice.",
    ),
    _slip(
        r"\b[Aa][ ](?!one\b|once\b|eu|uni|us)[aeiou][a-z]{1,20}",
        "Before a vowel: an.",
        "an",
        is_cased=True,
    ),
    _slip(
        r"\ban[ ](?!hou|hon|hei)[bcdfghjklmnpqrstvwyz][a-z]{2,20}",
        "Before a consonant: a.",
        "a",
        is_cased=True,
    ),
    _slip(
        rf"\b(?:many|several|few|these|those|all my|some other)[ ](?:{_THING})\b",
        "The plural is needed here.",
    ),
    _slip(
        r"\bmuch[ ](?:people|students|things|cars|tourists|problems|friends)\b",
        "What can be counted takes many.",
        "many",
    ),
    _slip(rf"\b(?:{_MODAL})[ ]to[ ]\w{{2,20}}", "After a modal verb there is no to."),
    _slip(
        rf"\b(?:{_MODAL})[ ](?:{_PAST}|goes|has|is|are|makes|helps|gets)\b",
        "After a modal verb the plain form is used.",
    ),
    _slip(rf"\bdid(?:n't|[ ]not)[ ](?:{_PAST})\b", "After did not the plain form is used."),
    _slip(
        r"\bi[ ](?:am|was)[ ](?:agree|go|like|want|think|worker)\b", "Two verbs do not fit here."
    ),
    _slip(r"\bi[ ]free\b", "The verb is missing: I am free.", "I am free"),
    _slip(r"\bvery[ ](?:like|love|want|enjoy)\b", "very does not go with a verb."),
    _slip(r"\bwant[ ](?:learn|go|buy|see|be|make|study)\b", "to is missing.", "want to"),
    _slip(
        r"\b(?:i|we|they)[ ]like[ ](?:go|travel|eat|play|read|swim)\b",
        "After like: to, or the form with ing.",
    ),
    _slip(
        r"\bdepends?[ ]of\b|\bdiscuss(?:es|ed)?[ ]about\b|\bmarried[ ]with\b|\bexplain[ ]me\b|"
        r"\barriv(?:e|es|ed)[ ]to\b|\bin[ ]the[ ]other[ ]hand\b|\blisten[ ]music\b",
        "Another preposition is used here.",
    ),
    _slip(r"\bthere[ ]is[ ](?:many|several|some[ ]people)\b", "Plural: there are.", "there are"),
    _slip(r"\b(the|a|to|is|in|of|and|are|was)[ ]\1\b", "This word stands there twice."),
    _slip(
        r"\b[Ii][ ](?:stay|go|have|eat|am)[ ](?:\w{1,12}[ ]){0,4}(?:last|yesterday)\b",
        "Something past needs the past form.",
    ),
    _slip(r"(?<![\w'.])i(?![\w'.])", "The pronoun is a capital I.", "I", for_writing=True),
    _slip(
        r"(?:(?<=[a-z]{2}[.!?][ ])|(?<=[a-z]{2}[.!?]\n)|(?<=\n\n))[a-z][a-z']{1,20}",
        "A sentence begins with a capital letter.",
        for_writing=True,
    ),
)


def slips_in(text: str, *, written: bool) -> list[ErrorFound]:
    """Return mistakes in the order of the patterns, at most 40; capitals count in writing only."""
    found: list[ErrorFound] = []
    for slip in _SLIPS:
        if slip.for_writing and not written:
            continue
        for place in slip.pattern.finditer(text):
            if slip.is_third_person and _word_before(text, place.start()) in _AFTER:
                continue
            found.append(
                ErrorFound(
                    quote=place[0],
                    kind="grammar",
                    message=slip.message,
                    suggestion=slip.suggestion,
                )
            )
            if len(found) >= MAX_SLIPS:
                return found
    return found


def _word_before(text: str, at: int) -> str:
    before = text[max(at - 24, 0) : at].split()
    return before[-1].lower().strip(".,;:!?\"'") if before else ""
