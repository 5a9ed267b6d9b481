"""Evidence from a language model, or from the rules where no model is configured."""

from grading.llm.answers import evidence_of
from grading.llm.config import LlmConfig
from grading.llm.errors import AnswerRefused, MalformedAnswer
from grading.llm.open import open_assessor
from grading.llm.rules import LLM_RULES
from grading.llm.task import Assessor, AssessTask

__all__ = [
    "LLM_RULES",
    "AnswerRefused",
    "AssessTask",
    "Assessor",
    "LlmConfig",
    "MalformedAnswer",
    "evidence_of",
    "open_assessor",
]
