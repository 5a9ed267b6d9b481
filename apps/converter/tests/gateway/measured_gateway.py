"""`converter gateway`, which says on request how much memory its largest child has had.

The system keeps that figure for the children that have ended, and shows it to their parent alone.
To look at the children from outside would miss those that end between two looks.
"""

from __future__ import annotations

import resource
import signal

from converter.cli import main

ASK = signal.SIGUSR1
"""On this signal a line with the number of bytes is written."""


def say_peak(*_: object) -> None:
    kibibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(kibibytes * 1024, flush=True)


if __name__ == "__main__":
    signal.signal(ASK, say_peak)
    main(prog_name="converter")
