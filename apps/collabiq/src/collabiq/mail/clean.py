"""The text of a mail without signatures, quotes and disclaimers.

Every rule looks at a line, or at a paragraph, a bounded number of times: the time grows as the
mail does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from collabiq.mail.phrases import (
    CLOSINGS,
    CONTACT,
    DELIMITER,
    DISCLAIMERS,
    FORWARD_SUBJECT,
    GREETINGS,
    MOBILE,
    RULE,
    SIGNED,
    TITLE,
)
from collabiq.mail.quotes import split_quotes
from collabiq.mail.text import plain, visible

Kind = Literal["quote", "signature", "disclaimer", "forward_header"]
Language = Literal["ko", "en", "mixed", "other", "none"]

_MAX_LINE: Final = 400
"""Of characters that the rules look at; nobody signs with longer lines."""
_MAX_SIGNATURE_LINES: Final = 15
_MAX_CONTACT_LINE: Final = 120
_MAX_DISCLAIMER_SCAN: Final = 4_000
_FEW_CONTACTS: Final = 2
_MIXED_SHARE: Final = 0.2
_KOREAN_SHARE: Final = 0.3
_LETTERS_OF_NOTHING: Final = 2
_MAX_LANGUAGE: Final = 20_000
_SYLLABLES: Final = re.compile("[가-힣]+")
_LATIN: Final = re.compile("[A-Za-z]+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out, and what it was taken for."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What is left of a text, and what is not."""

    text: str
    removed: Sequence[Removed]
    language: Language
    empty: bool
    """Whether nothing is left that says anything: a greeting and thanks say nothing."""


def clean(text: str, *, subject: str = "") -> Cleaned:
    """Return what a mail says itself. What a mail forwards belongs to it; what it answers not."""
    lines = [line.rstrip() for line in plain(text).replace("\xa0", " ").split("\n")]
    removed: list[Removed] = []
    kept: list[str] = []
    is_forward = FORWARD_SUBJECT.match(subject[:_MAX_LINE]) is not None
    for segment in split_quotes(lines, is_forward=is_forward):
        if segment.kind is not None:
            _note(removed, segment.kind, segment.lines)
            continue
        kept += ["", *_without_signature(_without_disclaimers(segment.lines, removed), removed)]
    body = _squeezed(kept)
    return Cleaned(
        text=body,
        removed=tuple(removed),
        language=language_of(body),
        empty=_says_nothing(body),
    )


def language_of(text: str) -> Language:
    """Return in which script a text is written, by the letters at its beginning."""
    text = text[:_MAX_LANGUAGE]
    korean = _count(_SYLLABLES, text)
    latin = _count(_LATIN, text)
    others = _count(_LETTERS, text) - korean - latin
    if korean + latin + others == 0:
        return "none"
    if others > korean + latin:
        return "other"
    if korean >= _KOREAN_SHARE * (korean + latin):
        # Names and terms are Latin in every Korean mail; sentences are not.
        return "mixed" if latin > korean else "ko"
    return "mixed" if korean >= _MIXED_SHARE * (korean + latin) else "en"


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(map(len, pattern.findall(text)))


def _without_disclaimers(lines: Sequence[str], removed: list[Removed]) -> Sequence[str]:
    """Return the lines without paragraphs that lawyers and list servers put there."""
    everything = visible(" ".join(lines)).lower()
    phrases = [phrase for phrase in DISCLAIMERS if phrase in everything]
    if not phrases:
        return lines
    kept: list[str] = []
    for paragraph in _paragraphs(lines):
        said = visible(" ".join(paragraph)[:_MAX_DISCLAIMER_SCAN]).lower()
        if any(phrase in said for phrase in phrases):
            _note(removed, "disclaimer", paragraph)
        else:
            kept += paragraph
    return kept


def _paragraphs(lines: Sequence[str]) -> list[list[str]]:
    """Return runs of lines; an empty line, or one that is a rule, begins another."""
    found: list[list[str]] = []
    for line in lines:
        if not found or not line.strip() or RULE.match(line[:_MAX_LINE]) or _is_blank(found[-1]):
            found.append([])
        found[-1].append(line)
    return found


def _is_blank(paragraph: Sequence[str]) -> bool:
    return len(paragraph) == 1 and not paragraph[0].strip()


def _without_signature(lines: Sequence[str], removed: list[Removed]) -> Sequence[str]:
    begins = _signature_begins(lines)
    if begins < len(lines):
        _note(removed, "signature", lines[begins:])
    return lines[:begins]


def _signature_begins(lines: Sequence[str]) -> int:
    """Return the line from which on there is but a signature, or the number of lines."""
    for at, line in enumerate(lines):
        if line.startswith("--") and DELIMITER.match(line) and any(lines[at + 1 : at + 4]):
            return at
    end = len(lines)
    while end and (_is_filler(lines[end - 1]) or _is_mobile(lines[end - 1])):
        end -= 1
    mobile = next((at for at in range(end, len(lines)) if _is_mobile(lines[at])), len(lines))
    first = max(0, end - _MAX_SIGNATURE_LINES)
    closing = next((at for at in range(end - 1, first - 1, -1) if _is_closing(lines[at])), None)
    if closing is not None:
        after = _behind_name(lines, closing + 1, end)
        rest = [line for line in lines[after:end] if not _is_filler(line)]
        if rest and all(_may_be_signature(line) for line in rest):
            return after
        if not rest:
            return mobile
    return min(_contacts_begin(lines, first, end), mobile)


def _behind_name(lines: Sequence[str], start: int, end: int) -> int:
    """Return the line behind the name under a closing, if there is one."""
    at = start
    while at < end and not lines[at].strip():
        at += 1
    if at < end and _is_name(lines[at]):
        return at + 1
    return start


def _is_name(line: str) -> bool:
    said = line.strip()
    if SIGNED.match(said[:_MAX_LINE]):
        return True
    words = said.split()
    if not 0 < len(words) <= 3 or len(said) > 40 or CONTACT.search(said) or TITLE.search(said):  # noqa: PLR2004
        return False
    return all(word[0].isalpha() for word in words)


def _contacts_begin(lines: Sequence[str], first: int, end: int) -> int:
    """Return where a block of contacts at the end begins, without a closing before it."""
    begins, contacts = end, 0
    for at in range(end - 1, first - 1, -1):
        line = lines[at]
        if _is_filler(line):
            if contacts >= _FEW_CONTACTS:
                break
            continue
        if not _may_be_signature(line):
            break
        contacts += CONTACT.search(line[:_MAX_LINE]) is not None
        begins = at
    return begins if contacts >= _FEW_CONTACTS else len(lines)


def _may_be_signature(line: str) -> bool:
    said = line.strip()
    if len(said) > _MAX_CONTACT_LINE or SIGNED.match(said):
        return False
    if CONTACT.search(said) or TITLE.search(said):
        return True
    return len(said.split()) <= 6 and not said.endswith((".", "?", "!", "다", "요", ":", ","))  # noqa: PLR2004


def _is_closing(line: str) -> bool:
    said = visible(line[:_MAX_LINE]).strip().rstrip(".,!~ ").lower()
    return said in CLOSINGS or SIGNED.match(said) is not None


def _is_mobile(line: str) -> bool:
    return len(line) <= _MAX_CONTACT_LINE and line.strip().lower().startswith(MOBILE)


def _is_filler(line: str) -> bool:
    return not line.strip() or RULE.match(line[:_MAX_LINE]) is not None


def _says_nothing(body: str) -> bool:
    letters = 0
    for line in body.split("\n"):
        said = line[:_MAX_LINE].strip().rstrip(".,!~ ").lower()
        if said in CLOSINGS or said in GREETINGS or SIGNED.match(said):
            continue
        letters += sum(map(str.isalnum, said))
        if letters > _LETTERS_OF_NOTHING:
            return False
    return True


def _note(removed: list[Removed], kind: Kind, lines: Sequence[str]) -> None:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        removed.append(Removed(kind, text))


def _squeezed(lines: Sequence[str]) -> str:
    """Return the lines as a text without empty lines at its ends, or several in a row."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line if line.strip() else "")
    return "\n".join(kept).strip("\n")
