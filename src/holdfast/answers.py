"""Answers to stages that wait: what is given, and what became of it.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.engine.jobs.answers import AnswerReceipt, AnswerStanding, GivenAnswer
from holdfast.runtime.outbox.answer import Progress

__all__ = ["AnswerReceipt", "AnswerStanding", "GivenAnswer", "Progress"]
