"""Why somebody does not get what they asked for, each with its public code."""

from __future__ import annotations

from typing import ClassVar

from converter.codes import CODES, EXPIRED, FORBIDDEN, NOT_READY
from holdfast.classify import PublicCode


class Refusal(Exception):
    """What was asked for is refused; `told` is what the user gets to know."""

    def __init__(self, told: PublicCode) -> None:
        self.told = told
        super().__init__(told.message)


class NotTaken(Refusal):
    """A file was not taken; `job_id` is the failed job that tells of it."""

    def __init__(self, told: PublicCode, *, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(told)


class _Plain(Refusal):
    """A refusal of which there is no more to say than its code."""

    code: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(CODES.codes[self.code])


class Forbidden(_Plain):
    """The conversion is somebody else's."""

    code = FORBIDDEN


class NotReady(_Plain):
    """There is no XML yet."""

    code = NOT_READY


class Expired(_Plain):
    """The file is gone: removed by its owner or by retention."""

    code = EXPIRED


class QuotaReached(Exception):
    """The owner has as many conversions under way as one may have."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"{limit} conversions of yours are under way, and that is the limit; "
            "wait until some of them are finished, then send the file again"
        )
