"""Why a request is refused, each with its public code."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from converter.codes import CODES, EXPIRED, FORBIDDEN, NOT_READY
from holdfast.classify import PublicCode


class Refusal(Exception):
    """What was asked for is refused; `told` is what the user reads."""

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
    """The conversion is another owner's."""

    code = FORBIDDEN


class NotReady(_Plain):
    """There is no XML yet."""

    code = NOT_READY


class Expired(_Plain):
    """The file is gone: removed by its owner or by retention."""

    code = EXPIRED


class Cancelled(Refusal):
    """There will be no XML: the conversion was cancelled, and its file is gone."""

    def __init__(self) -> None:
        line = "This conversion was cancelled. Re-upload to convert the file."
        super().__init__(replace(CODES.codes[EXPIRED], message=line))


class QuotaReached(Exception):
    """The owner has as many conversions under way as one may have."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"{limit} conversions of yours are under way, and that is the limit; "
            "wait until some of them are finished, then send the file again"
        )


class CallbackRefused(Exception):
    """No webhook may go where one was asked for; it says so in its own words."""


class PriorityRefused(Exception):
    """The sender may not send with that priority."""

    def __init__(self) -> None:
        super().__init__("You may not send files with high priority; leave it out, or ask for it.")


class TooManyUploads(Exception):
    """The owner has sent as many files as one may in a minute."""

    def __init__(self, limit: int, *, wait_s: float) -> None:
        self.limit = limit
        self.wait_s = wait_s
        super().__init__(
            f"{limit} files in a minute are the limit; send this one again in {wait_s:.0f} seconds"
        )
