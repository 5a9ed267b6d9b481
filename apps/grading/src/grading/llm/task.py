"""What an assessor is given, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, Self

from grading.calls import RawAnswer
from grading.questions import Question
from grading.states import Skill


class AssessTask(NamedTuple):
    """An essay or a transcript, and the prompt that it answers."""

    skill: Skill
    text: str
    prompt: str
    requirements: tuple[str, ...]
    number: int
    """The task of a writing prompt, the part of a speaking one."""
    minimum_words: int
    keywords: tuple[str, ...] = ()
    repair: str | None = None
    """Why the answer before this call could not be used; None at first."""

    @classmethod
    def of(cls, question: Question, text: str, *, repair: str | None = None) -> Self:
        """Return the task of an answer to a question."""
        return cls(
            skill=question.skill,
            text=text,
            prompt=question.prompt,
            requirements=question.requirements,
            number=question.number,
            minimum_words=question.minimum_words,
            keywords=question.keywords,
            repair=repair,
        )


class Assessor(Protocol):
    """Finds evidence in texts."""

    @property
    def name(self) -> str:
        """The grader as results name it: `rules`, or `openai:` and the model."""

    def assess(
        self, task: AssessTask, *, token: str, timeout_s: float, headers: Mapping[str, str]
    ) -> RawAnswer:
        """Make one call and return its answer unread; `evidence_of` reads it.

        `token` names this call and is the same for every attempt at it; a repair is another call
        and needs another token. `headers` carry a trace on. Nothing is retried here.
        """
