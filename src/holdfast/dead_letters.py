"""Dead letters: how they are found, and what is read of them.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.core.dead_letter.dead_letter import Cause, LetterState
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.views.dead_letter import LetterView

__all__ = ["Cause", "LetterFilter", "LetterState", "LetterView"]
