"""What jobs wait for, what many submissions made, and who sees how much of a job.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.engine.submit.submission import Submitted
from holdfast.views.disclosure import Disclosure
from holdfast.views.explain.waiting import Waiting

__all__ = ["Disclosure", "Submitted", "Waiting"]
