"""What lies below an exception: what it came from, and what it wraps."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from itertools import islice
from typing import Final

from holdfast.classify.facts.describe import causes_of
from holdfast.classify.facts.http import read
from holdfast.classify.rule import Verdict
from holdfast.classify.table import Table
from holdfast.core.values.instant import Instant

_MAX_FRAMES: Final = 1_000


def reasons_of(exception: BaseException) -> Iterator[BaseException]:
    """Return the exception and its causes, each followed by what it wraps.

    Libraries that hide a cause (`raise … from None`) or never had one often keep it as their
    `reason` or as their first argument.
    """
    for cause in causes_of(exception):
        yield cause
        wrapped = (read(cause, ("reason",)), *cause.args[:1])
        yield from (each for each in wrapped if isinstance(each, BaseException))


def is_untrusted(exception: BaseException) -> bool:
    """Return whether below it all the other side's certificate was refused."""
    return any(isinstance(each, ssl.SSLCertVerificationError) for each in reasons_of(exception))


def verdict_of_causes(exception: BaseException, table: Table, *, now: Instant) -> Verdict | None:
    """What the table says of the first of the exception's causes that it knows."""
    causes = islice(causes_of(exception), 1, None)
    verdicts = (table.verdict_on(cause, now=now) for cause in causes)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def came_through(exception: BaseException, modules: tuple[str, ...]) -> bool:
    """Whether the exception passed a frame of one of the modules, given with a dot at the end."""
    traceback, frames_left = exception.__traceback__, _MAX_FRAMES
    while traceback is not None and frames_left:
        if f"{traceback.tb_frame.f_globals.get('__name__')}.".startswith(modules):
            return True
        traceback, frames_left = traceback.tb_next, frames_left - 1
    return False
