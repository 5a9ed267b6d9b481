"""Tokens and private keys that say by their own shape that they are secrets."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from holdfast.redaction.marker import Inspection, Kind
from holdfast.redaction.patterns.token_shapes import BROKEN, UNBROKEN, WITH_HINT, WITH_HINT_INSIDE

_MAX_HEAD: Final = 40
_BACKWARDS: Final = re.compile(r"[A-Za-z0-9_~]{0,40}+")

_PRIVATE_KEY: Final = re.compile(r"-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END: Final = re.compile(r"-----END[ A-Z0-9_-]{0,60}-----")
_KEY_MATERIAL: Final = re.compile(r"(?:[A-Za-z0-9+/=\s:,\-]|\\{1,15}[nrt]){16,}+")


class Shapes(NamedTuple):
    """The patterns of tokens; those with a hint are tried only where it occurs."""

    unbroken: re.Pattern[str]
    broken: re.Pattern[str]
    with_hint: tuple[tuple[str, re.Pattern[str]], ...]
    with_hint_inside: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def shapes() -> Shapes:
    """All patterns, compiled once."""
    return Shapes(
        re.compile(UNBROKEN),
        re.compile(BROKEN),
        tuple((hint, re.compile(pattern)) for hint, pattern in WITH_HINT),
        tuple((hint, re.compile(pattern)) for hint, pattern in WITH_HINT_INSIDE),
    )


def redact_private_keys(text: str, inspection: Inspection) -> str:
    """The text without private keys in PEM; one that was cut off ends where its letters end."""
    pieces: list[str] = []
    copied = 0
    last_end = text.rfind("-----END")
    while (begin := _PRIVATE_KEY.search(text, copied)) is not None:
        inspection.step()
        ends = _END.search(text, begin.end()) if begin.end() <= last_end else None
        ends = ends or _KEY_MATERIAL.match(text, begin.end())
        if ends is None:
            # Only spoken of.
            pieces.append(text[copied : begin.end()])
            copied = begin.end()
            continue
        key = text[begin.start() : ends.end()]
        pieces += (text[copied : begin.start()], inspection.mark(Kind.PRIVATE_KEY, key))
        copied = ends.end()
    return "".join((*pieces, text[copied:])) if pieces else text


def redact_tokens(text: str, inspection: Inspection) -> str:
    """Return the text without tokens that have a shape of their own."""

    def hide(found: re.Match[str]) -> str:
        inspection.step()
        return inspection.mark(Kind.TOKEN, found.group())

    unbroken, broken, with_hint, with_hint_inside = shapes()
    for hint, pattern in with_hint:
        if hint in text:
            text = pattern.sub(hide, text)
    for hint, pattern in with_hint_inside:
        if hint in text:
            text = _redact_from_mark(text, pattern, inspection)
    if unbroken.search(text):
        text = unbroken.sub(hide, text)
    return _redact_from_mark(text, broken, inspection)


def _redact_from_mark(text: str, pattern: re.Pattern[str], inspection: Inspection) -> str:
    """Return the text without what the pattern finds by a mark in its middle."""
    pieces: list[str] = []
    copied = 0
    for found in pattern.finditer(text):
        inspection.step()
        start = _start_of_token(text, max(copied, found.start() - _MAX_HEAD), found.start())
        pieces += (text[copied:start], inspection.mark(Kind.TOKEN, text[start : found.end()]))
        copied = found.end()
    return "".join((*pieces, text[copied:])) if pieces else text


def _start_of_token(text: str, earliest: int, mark: int) -> int:
    before = _BACKWARDS.match(text[earliest:mark][::-1])
    start = mark - before.end() if before else mark
    if text[start - 1 : start] == "\\" and text[start : start + 1] in "nrt":
        start += 1
    return start
