"""Evidence from a language model, or from the rules where no model is configured."""

from grading.llm.task import Assessor, AssessTask

__all__ = ["AssessTask", "Assessor"]
