"""Evidence from a language model, or from the rules where no model is configured."""

from grading.llm.config import LlmConfig
from grading.llm.errors import AnswerRefused, MalformedAnswer
from grading.llm.task import Assessor, AssessTask

__all__ = ["AnswerRefused", "AssessTask", "Assessor", "LlmConfig", "MalformedAnswer"]
