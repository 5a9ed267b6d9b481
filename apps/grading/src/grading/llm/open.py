"""Chooses who assesses."""

from __future__ import annotations

from grading.llm.config import LlmConfig
from grading.llm.task import Assessor


def open_assessor(config: LlmConfig) -> Assessor:
    """Return the model at `base_url`, or the rules where none is configured; nothing is called."""
    if not config.base_url:
        from grading.rules import RulesAssessor  # noqa: PLC0415 - it uses this package

        return RulesAssessor()
    # The SDK takes a second to import, which those who grade by rules need not wait for.
    from grading.llm.openai import OpenAIAssessor  # noqa: PLC0415 - as above

    return OpenAIAssessor(config)
