"""One prompt, and what an answer to it has to have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from grading.states import Skill

_MINIMUM_WORDS: Final[Mapping[tuple[Skill, int], int]] = {
    (Skill.WRITING, 1): 120,
    (Skill.WRITING, 2): 250,
    (Skill.SPEAKING, 1): 50,
    (Skill.SPEAKING, 2): 80,
    (Skill.SPEAKING, 3): 100,
}
_NUMBERS: Final = {Skill.WRITING: "taskNumber", Skill.SPEAKING: "partNumber"}


def minimum_words(skill: Skill, number: int) -> int:
    """Return how many words an answer to a task or part of that number needs."""
    return _MINIMUM_WORDS[skill, number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A prompt. `number` is the task of a writing prompt or the part of a speaking one."""

    id: str
    skill: Skill
    number: int
    title: str
    prompt: str
    requirements: tuple[str, ...] = ()
    minimum_words: int
    keywords: tuple[str, ...] = ()
    """Words that answers to it can be expected to hold some of."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the question of a document, as packaged files and `to_document` have it.

        Raises `ValueError` or `KeyError` for a document that is none.
        """
        skill = Skill(document["skill"])
        number = int(document[_NUMBERS[skill]])
        if (skill, number) not in _MINIMUM_WORDS:
            raise ValueError(f"there is no {skill} task or part {number}")
        return cls(
            id=str(document["id"]),
            skill=skill,
            number=number,
            title=str(document["title"]),
            prompt=str(document["prompt"]),
            requirements=tuple(map(str, document.get("requirements", ()))),
            minimum_words=int(document.get("minimumWords", minimum_words(skill, number))),
            keywords=tuple(map(str, document.get("keywords", ()))),
        )

    def to_document(self) -> dict[str, Any]:
        """Return the question as the API shows it."""
        return {
            "id": self.id,
            "skill": self.skill.value,
            _NUMBERS[self.skill]: self.number,
            "title": self.title,
            "prompt": self.prompt,
            "requirements": list(self.requirements),
            "minimumWords": self.minimum_words,
            "keywords": list(self.keywords),
        }
