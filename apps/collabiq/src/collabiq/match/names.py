"""The one name of many that another one means, if there is exactly one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process

COMPANY_THRESHOLD: Final = 0.85
PERSON_THRESHOLD: Final = 0.70
PERSON_SURE: Final = 0.85
"""A person below this is taken, and looked at."""
MARGIN: Final = 0.05
"""By which the best has to be better than the next, unless it is the very name."""
ALTERNATIVES: Final = 5
_SHOWN: Final = 50.0
_MAX_NAME: Final = 200
_LEGAL: Final = re.compile(
    r"\(주\)|㈜|주식회사|\(유\)|유한회사|\b(?:inc|ltd|llc|corp|corporation|co|company|limited|gmbh|plc)\b\.?"
)
_TITLES: Final = re.compile(
    r"\s*(?:대표이사|대표|이사|팀장|매니저|과장|차장|부장|대리|사원|주임|책임|선임|수석|님|씨)+$"
)
_NOISE: Final = re.compile(r"[^\w가-힣]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that may be meant, and how well it fits, from 0 to 1."""

    id: str
    name: str
    score: float


@dataclass(frozen=True, slots=True)
class Match:
    """What a name was matched with.

    `found` is None below the threshold and where several fit: then it is `ambiguous`. `sure` is
    False for what a person should look at.
    """

    found: Candidate | None
    alternatives: Sequence[Candidate]
    ambiguous: bool
    sure: bool


NOTHING: Final = Match(None, (), ambiguous=False, sure=True)


class NameIndex:
    """Names, made comparable once."""

    def __init__(
        self,
        names: Iterable[tuple[str, str]],
        *,
        normal: Callable[[str], str],
        threshold: float,
        sure: float,
    ) -> None:
        self._names = [(each, name) for each, name in names if normal(name)]
        self._normal, self._threshold, self._sure = normal, threshold, sure
        self._keys = [normal(name) for _, name in self._names]

    def __len__(self) -> int:
        return len(self._names)

    def match(self, name: str | None) -> Match:
        """Return what a name means."""
        wanted = self._normal((name or "")[:_MAX_NAME])
        if not wanted or not self._names:
            return NOTHING
        ranked: list[tuple[str, float, int]] = process.extract(
            wanted, self._keys, scorer=fuzz.ratio, limit=ALTERNATIVES, score_cutoff=_SHOWN
        )
        found = [Candidate(*self._names[at], round(score / 100, 4)) for _, score, at in ranked]
        fitting = [each for each in found if each.score >= self._threshold]
        if not fitting:
            return Match(None, found, ambiguous=False, sure=False)
        best = fitting[0]
        rivals = [each for each in fitting[1:] if each.id != best.id and _rivals(each, best)]
        if rivals:
            return Match(None, found, ambiguous=True, sure=False)
        return Match(best, found, ambiguous=False, sure=best.score >= self._sure)


def company_index(companies: Iterable[tuple[str, str]]) -> NameIndex:
    """Return an index of companies, given ids and names."""
    return NameIndex(
        companies, normal=company_key, threshold=COMPANY_THRESHOLD, sure=COMPANY_THRESHOLD
    )


def person_index(people: Iterable[tuple[str, str]]) -> NameIndex:
    """Return an index of people, given ids and names."""
    return NameIndex(people, normal=_person, threshold=PERSON_THRESHOLD, sure=PERSON_SURE)


def _rivals(other: Candidate, best: Candidate) -> bool:
    """Return whether two fit alike; the very name has no rival but the very same."""
    if best.score == 1.0:
        return other.score == 1.0
    return best.score - other.score < MARGIN


def company_key(name: str) -> str:
    """Return a company's name as names are compared: without its legal form and punctuation."""
    folded = _LEGAL.sub(" ", unicodedata.normalize("NFKC", name).casefold())
    return _NOISE.sub("", folded) or _NOISE.sub("", name.casefold())


def _person(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    return _NOISE.sub("", _TITLES.sub("", folded)) or _NOISE.sub("", folded)
