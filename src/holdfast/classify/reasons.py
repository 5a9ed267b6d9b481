"""What lies below an exception: what it came from, and what it wraps."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from itertools import islice

from holdfast.classify.describe import causes_of
from holdfast.classify.http_facts import read
from holdfast.classify.rule import Verdict
from holdfast.classify.table import Table
from holdfast.core.instant import Instant


def reasons_of(exception: BaseException) -> Iterator[BaseException]:
    """The exception and its causes, each followed by what it wraps.

    Libraries that hide a cause (`raise … from None`) or never had one often keep it as their
    `reason` or as their first argument.
    """
    for cause in causes_of(exception):
        yield cause
        wrapped = (read(cause, ("reason",)), *cause.args[:1])
        yield from (each for each in wrapped if isinstance(each, BaseException))


def is_untrusted(exception: BaseException) -> bool:
    """Whether below it all the other side's certificate was refused."""
    return any(isinstance(each, ssl.SSLCertVerificationError) for each in reasons_of(exception))


def verdict_of_causes(exception: BaseException, table: Table, *, now: Instant) -> Verdict | None:
    """What the table says of the first of the exception's causes that it knows."""
    causes = islice(causes_of(exception), 1, None)
    verdicts = (table.verdict_on(cause, now=now) for cause in causes)
    return next((verdict for verdict in verdicts if verdict is not None), None)
