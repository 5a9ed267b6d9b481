"""Which requirements of a prompt a text meets, by the words that it would have to hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from grading.llm.task import AssessTask
from grading.rules.linking import POSITION, SUPPORT
from grading.scoring.evidence import RequirementFound
from grading.scoring.texts.listed import listed
from grading.scoring.texts.text import AnalysedText, Sentence, words_of
from grading.scoring.texts.topic import content_stems, stem

_MIN_HITS: Final = 2
_MANY_STEMS: Final = 3
_MIN_SUPPORTS: Final = 2
_MIN_TOPIC_SHARE: Final = 0.35
_POSITION_WORDS: Final = frozenset(listed("opinion agree whether prefer view outweigh choose"))
_SUPPORT_WORDS: Final = frozenset(listed("reasons examples ideas"))
_ALIKE: Final[Mapping[str, str]] = {
    each: " ".join(group)
    for group in (
        listed("benef advan good impro posit help oppor usefu easie reviv susta favou stron"),
        listed("harm disad probl negat damag drawb bad suffe destr pollu dirty noise worse diffi"),
        listed("sugge measu shoul could solve solut gover limit needs"),
        listed("ask know could would infor tell quest gratef what when how"),
        listed("thank grate appre glad"),
        listed("refun money compe retur back"),
        listed("cause becau reaso due"),
        listed("affec ruin spoil becau resul sleep tired head relax"),
        listed("reach phone call numbe contac email"),
        listed("timet time sched when days hour begin start"),
        listed("price cost fee pay money much expen"),
        listed("size many group small stude large"),
        listed("intro name am work"),
        listed("level readi speak gramm studi exami passed b1 b2"),
    )
    for each in group
}
"""Stems that stand for each other in requirements."""
_DONE_BY: Final = re.compile(r"\b(?:break|breaks|between lessons|schoolyard|recess)\b")


def requirements_in(analysed: AnalysedText, task: AssessTask) -> list[RequirementFound]:
    """Return each requirement, whether it is met and the sentence that shows it.

    A learner who writes well says things in other words: in a text of full length that has much of
    the topic, what was not found is taken to be there.
    """
    stems = [set(map(stem, sentence.words)) for sentence in analysed.sentences]
    everywhere: set[str] = set().union(*stems)
    topic = set(map(stem, map(str.lower, task.keywords)))
    is_trusted = (
        len(analysed.words) >= task.minimum_words
        and bool(topic)
        and len(topic & everywhere) >= _MIN_TOPIC_SHARE * len(topic)
    )
    return [
        _found(analysed, stems, requirement[:400], is_trusted=is_trusted)
        for requirement in task.requirements
    ]


def _found(
    analysed: AnalysedText, stems: Sequence[set[str]], requirement: str, *, is_trusted: bool
) -> RequirementFound:
    words = set(words_of(requirement))
    if words & _SUPPORT_WORDS:
        at, met = _by_pattern(analysed, SUPPORT, least=_MIN_SUPPORTS)
    elif words & _POSITION_WORDS:
        at, met = _by_pattern(analysed, POSITION, least=1)
    elif "between" in words:
        at, met = _by_pattern(analysed, _DONE_BY, least=1)
    else:
        at, met = _by_stems(stems, content_stems(words_of(requirement)))
    if is_trusted and not met:
        at, met = at if at is not None else len(analysed.sentences) // 2, True
    quote = analysed.passage(analysed.sentences[at]) if met and at is not None else ""
    return RequirementFound(requirement=requirement, met=met, quote=quote)


def _by_pattern(
    analysed: AnalysedText, pattern: re.Pattern[str], *, least: int
) -> tuple[int | None, bool]:
    places = [at for at, each in enumerate(analysed.sentences) if pattern.search(_plain(each))]
    return (places[0] if places else None, len(places) >= least)


def _by_stems(stems: Sequence[set[str]], wanted: Sequence[str]) -> tuple[int | None, bool]:
    """Return the sentence with the most of the wanted stems, and whether the text has enough."""
    groups = [{each, *_ALIKE.get(each, "").split()} for each in dict.fromkeys(wanted)]
    if not groups:
        return None, bool(stems)
    hits = [sum(bool(group & sentence) for group in groups) for sentence in stems]
    everywhere: set[str] = set().union(*stems)
    total = sum(bool(group & everywhere) for group in groups)
    needed = _MIN_HITS if len(groups) >= _MANY_STEMS else 1
    best = max(range(len(hits)), key=hits.__getitem__, default=None)
    return best, total >= needed


def _plain(sentence: Sentence) -> str:
    return " ".join(word[:40] for word in sentence.words)
