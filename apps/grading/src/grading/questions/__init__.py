"""The prompts that learners answer."""

from grading.questions.model import Question, minimum_words
from grading.questions.registry import Questions, packaged

__all__ = ["Question", "Questions", "minimum_words", "packaged"]
