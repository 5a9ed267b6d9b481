"""Workers inside a program of your own, and how they are set.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.worker import Worker

__all__ = ["Worker", "WorkerOptions"]
