"""The prompts of this package, and those that an instructor has added."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Final

from grading.questions.model import Question
from grading.states import Skill

_FILES: Final = ("writing.json", "speaking.json")


def _no_more() -> Iterable[Question]:
    return ()


class Questions:
    """Prompts by id.

    `more` returns those that were added, and is called at each look, so that a new one is seen at
    once. It cannot replace a given one: the id of a packaged prompt means the same forever.
    """

    def __init__(
        self, given: Iterable[Question], more: Callable[[], Iterable[Question]] = _no_more
    ) -> None:
        self._given = {each.id: each for each in given}
        self._more = more

    def get(self, question_id: str) -> Question | None:
        """Return the question of that id, or None."""
        found = self._given.get(question_id)
        if found is not None:
            return found
        return next((each for each in self._more() if each.id == question_id), None)

    def all(self, skill: Skill | None = None) -> list[Question]:
        """Return the questions, of one skill or of both: writing first, then by number and id."""
        known = {each.id: each for each in self._more()} | self._given
        wanted = (each for each in known.values() if skill in {None, each.skill})
        return sorted(wanted, key=_order)


def packaged(more: Callable[[], Iterable[Question]] = _no_more) -> Questions:
    """Return the prompts of this package, and `more`."""
    return Questions(_packaged(), more)


@cache
def _packaged() -> tuple[Question, ...]:
    folder = files("grading.questions")
    return tuple(
        Question.from_document(each)
        for name in _FILES
        for each in json.loads((folder / name).read_text(encoding="utf-8"))
    )


def _order(question: Question) -> tuple[bool, int, str]:
    return (question.skill is not Skill.WRITING, question.number, question.id)
