"""What is set for a whole process, by the commands that have one to themselves."""

from __future__ import annotations

import gc
import sys
from typing import Final

from holdfast.redaction.patterns.tokens import shapes

TURN_S: Final = 0.0005
"""After how long a thread that computes hands over to one that waits. Python's own 5 ms are as long
as a claim takes: a thread that has its answer from the database would wait as long again."""
YOUNG: Final = 20_000
"""How many objects come to be before the youngest are looked through for cycles: more than the jobs
in flight consist of. Python's own 700 are those of fifty jobs, looked through without a find as
long as these are under way."""


def tune_process() -> None:
    """Make this process one that works for long; call it once everything is built."""
    # Else the first failure has its patterns of secrets compiled, and all handlers of a loop wait.
    shapes()
    # What is there by now stays: looking through it for garbage again and again takes a tenth of
    # the time of a worker with short jobs.
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    sys.setswitchinterval(TURN_S)
