"""Why an answer of a model cannot be used; nothing of a text or an answer is in these."""

from __future__ import annotations


class MalformedAnswer(Exception):
    """An answer is not evidence; `why` is said to the model in a repair."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class AnswerRefused(Exception):
    """A model would not assess a text; a further call does not change that."""
