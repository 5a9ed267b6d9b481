"""What a mail says about a collaboration, extracted by a model or by rules.

The extractor by Gemini is in `collabiq.extract.gemini`: its SDK takes seconds to import.
"""

from collabiq.extract.answers import AnswerBlocked, AnswerInvalid, read_answer
from collabiq.extract.evidence import occurs
from collabiq.extract.record import (
    Company,
    Confidence,
    Extraction,
    ExtractTask,
    Intensity,
    Usage,
)
from collabiq.extract.rules import extract_by_rules

__all__ = [
    "AnswerBlocked",
    "AnswerInvalid",
    "Company",
    "Confidence",
    "ExtractTask",
    "Extraction",
    "Intensity",
    "Usage",
    "extract_by_rules",
    "occurs",
    "read_answer",
]
