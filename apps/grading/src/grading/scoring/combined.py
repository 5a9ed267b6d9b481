"""Several runs over one text as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from grading.scoring.checked import CheckedEvidence, without_overlaps
from grading.scoring.criteria import median_level

_Found = TypeVar("_Found")


def combine(runs: Sequence[CheckedEvidence]) -> CheckedEvidence:
    """Return what most runs say: middle levels and shares, majorities, and all mistakes.

    Of one run it is that run. A tie about the topic or the position counts against the text.
    """
    if len(runs) == 1:
        return runs[0]
    names = dict.fromkeys(name for run in runs for name in run.levels)
    requirements = dict.fromkeys(name for run in runs for name in run.met)
    # The run with the middle number of mistakes: what only one of many runs sees is no mistake.
    typical = sorted(runs, key=lambda run: len(run.errors))[(len(runs) - 1) // 2]
    return CheckedEvidence(
        levels={
            name: median_level([run.levels[name] for run in runs if name in run.levels])
            for name in names
        },
        reasons=_first([run.reasons for run in runs]),
        met={
            name: _median([run.met[name] for run in runs if name in run.met])
            for name in requirements
        },
        requirement_quotes=_first([run.requirement_quotes for run in runs]),
        position_clear=_majority([run.position_clear for run in runs]),
        on_topic=_majority([run.on_topic for run in runs]),
        irrelevant=int(_median([float(run.irrelevant) for run in runs])),
        errors=without_overlaps(typical.errors),
        quotes=sum(run.quotes for run in runs),
        quotes_found=sum(run.quotes_found for run in runs),
    )


def _majority(votes: Sequence[bool]) -> bool:
    return 2 * sum(votes) > len(votes)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]


def _first(given: Sequence[Mapping[str, _Found]]) -> dict[str, _Found]:
    """Return what the first run says of each name."""
    found: dict[str, _Found] = {}
    for each in given:
        for name, value in each.items():
            found.setdefault(name, value)
    return found
