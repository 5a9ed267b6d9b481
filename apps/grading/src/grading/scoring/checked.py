"""Evidence held against the text: what is not in the text does not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from grading.llm.task import AssessTask
from grading.scoring.evidence import ErrorFound, Evidence, LevelFound, RequirementFound
from grading.scoring.texts.quotes import Quotable, Span
from grading.scoring.texts.text import words_of

MAX_UNPROVEN_LEVEL: Final = 3
"""The highest level that counts without a quote which is in the text."""
_UNPROVEN: Final = 0.5
_LANGUAGE_KINDS: Final = frozenset({"spelling", "vocabulary", "register"})


@dataclass(frozen=True, slots=True)
class PlacedError:
    """A mistake, and where it stands."""

    span: Span
    found: ErrorFound

    @property
    def is_of_vocabulary(self) -> bool:
        """Whether it is about words; the others are about grammar."""
        return self.found.kind in _LANGUAGE_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedEvidence:
    """What is left of one run's evidence."""

    levels: dict[str, int]
    reasons: dict[str, LevelFound]
    met: dict[str, float]
    """By requirement, of those that the run spoke of: 1 is shown, 0.5 is only said."""
    requirement_quotes: dict[str, str]
    position_clear: bool
    on_topic: bool
    irrelevant: int
    errors: tuple[PlacedError, ...]
    quotes: int
    """How many quotes were given."""
    quotes_found: int
    """How many of them are in the text."""


class _Counter:
    """Looks quotes up and counts them."""

    def __init__(self, quotable: Quotable) -> None:
        self._quotable = quotable
        self._next: dict[str, int] = {}
        self.given = self.found = 0

    def is_in_text(self, quote: str) -> bool:
        if not quote.strip():
            return False
        self.given += 1
        found = self._quotable.holds(quote)
        self.found += found
        return found

    def place(self, quote: str) -> Span | None:
        """Return the next place of a quote; the same quote again is the next occurrence."""
        self.given += 1
        span = self._quotable.find(quote, after=self._next.get(quote, 0))
        if span is None and quote in self._next:
            # One too many of the same: in the text, but a mistake that is counted already.
            self.found += 1
            return None
        if span is not None:
            self.found += 1
            self._next[quote] = span.offset + span.length
        return span


def check(
    evidence: Evidence, *, quotable: Quotable, task: AssessTask, criteria: Sequence[str]
) -> CheckedEvidence:
    """Return what evidence proves about a text."""
    counter = _Counter(quotable)
    levels, reasons = _levels(evidence.levels, counter, criteria)
    met: dict[str, float] = {}
    quotes: dict[str, str] = {}
    for name, each in _matched(evidence, task.requirements):
        shown = counter.is_in_text(each.quote)
        met[name] = (1.0 if shown else _UNPROVEN) if each.met else 0.0
        if each.met and shown:
            quotes[name] = each.quote
    irrelevant = sum(counter.is_in_text(quote) for quote in evidence.irrelevant)
    placed = [
        PlacedError(span, each)
        for each in evidence.errors
        if (span := counter.place(each.quote)) is not None
    ]
    return CheckedEvidence(
        levels=levels,
        reasons=reasons,
        met=met,
        requirement_quotes=quotes,
        position_clear=evidence.positionClear,
        on_topic=evidence.onTopic,
        irrelevant=irrelevant,
        errors=without_overlaps(placed),
        quotes=counter.given,
        quotes_found=counter.found,
    )


def without_overlaps(errors: Iterable[PlacedError]) -> tuple[PlacedError, ...]:
    """Return mistakes in the order of the text, of those that overlap the first."""
    kept: list[PlacedError] = []
    end = 0
    for each in sorted(errors, key=lambda error: (error.span.offset, -error.span.length)):
        if each.span.offset >= end:
            kept.append(each)
            end = each.span.offset + each.span.length
    return tuple(kept)


def _levels(
    found: Sequence[LevelFound], counter: _Counter, criteria: Sequence[str]
) -> tuple[dict[str, int], dict[str, LevelFound]]:
    """Return the first level of each criterion, as far as it is shown."""
    levels: dict[str, int] = {}
    reasons: dict[str, LevelFound] = {}
    for each in found:
        shown = counter.is_in_text(each.quote)
        if each.criterion in criteria and each.criterion not in levels:
            levels[each.criterion] = each.level if shown else min(each.level, MAX_UNPROVEN_LEVEL)
            reasons[each.criterion] = each if shown else each.model_copy(update={"quote": ""})
    return levels, reasons


def _matched(
    evidence: Evidence, requirements: Sequence[str]
) -> Iterator[tuple[str, RequirementFound]]:
    """Yield what was found about each requirement, by its words or, where all are there, its place.

    Of a task without requirements those count that the run itself names.
    """
    found = evidence.requirements
    if not requirements:
        yield from {each.requirement: each for each in reversed(found)}.items()
        return
    by_words = {_plain(each.requirement): each for each in reversed(found)}
    for place, requirement in enumerate(requirements):
        match = by_words.get(_plain(requirement))
        if match is None and len(found) == len(requirements):
            match = found[place]
        if match is not None:
            yield requirement, match


def _plain(text: str) -> str:
    return " ".join(words_of(text))
