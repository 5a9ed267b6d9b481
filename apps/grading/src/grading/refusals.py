"""Why the API refuses what it was sent: each refusal has its code and its HTTP status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Flaw(NamedTuple):
    """One place of a body that does not fit; `pointer` is a JSON pointer."""

    pointer: str
    message: str


class Refused(Exception):
    """A request is refused; nothing was stored."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int,
        field: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.status = status
        self.field = field
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ValidationRefused(Refused):
    """The body does not fit; `flaws` has every place."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        self.flaws = tuple(flaws)
        first = self.flaws[0]
        message = "; ".join(f"{flaw.pointer or 'body'}: {flaw.message}" for flaw in self.flaws)
        super().__init__("VALIDATION_ERROR", message, status=400, field=first.pointer)


class AudioRefused(Refused):
    """The recording may not be fetched from there, or is not there for this owner."""

    def __init__(self, message: str) -> None:
        super().__init__("AUDIO_REFUSED", message, status=400, field="/answer/audioUrl")


class AudioTooLarge(Refused):
    """The recording has more bytes than are taken."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        super().__init__(
            "AUDIO_TOO_LARGE", f"a recording may have {max_bytes} bytes at most", status=413
        )


class NotAudio(Refused):
    """The file holds nothing that can be listened to."""

    def __init__(self, message: str = "the file is not a recording") -> None:
        super().__init__("NOT_AUDIO", message, status=400, field="/file")


class AudioUnchecked(Refused):
    """The recording could not be looked at, for a reason outside it."""

    def __init__(self) -> None:
        super().__init__(
            "AUDIO_UNCHECKED",
            "the recording cannot be checked at the moment; send it again in a minute",
            status=503,
            retry_after_s=60.0,
        )


class RateLimited(Refused):
    """The owner has handed in as much as one may in a minute."""

    def __init__(self, limit: int, *, retry_after_s: float) -> None:
        super().__init__(
            "RATE_LIMITED",
            f"{limit} submissions a minute are the limit; try again in {retry_after_s:.0f} s",
            status=429,
            retry_after_s=retry_after_s,
        )


class QuotaReached(Refused):
    """The owner has as many submissions under way as one may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            "QUOTA_REACHED",
            f"{limit} of your submissions are under way, and that is the limit; "
            "wait until one of them is graded",
            status=429,
            retry_after_s=30.0,
        )


class TooManyUploads(Refused):
    """The owner has sent as many recordings as one may in a minute."""

    def __init__(self, limit: int, *, retry_after_s: float) -> None:
        super().__init__(
            "RATE_LIMITED",
            f"{limit} recordings a minute are the limit; try again in {retry_after_s:.0f} s",
            status=429,
            retry_after_s=retry_after_s,
        )


class RecordingsFull(Refused):
    """The owner's recordings take as much as they may."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            "QUOTA_REACHED",
            f"your recordings take {limit_bytes} bytes together, and that is the limit; "
            "each is removed 90 days after it was sent",
            status=429,
            retry_after_s=3_600.0,
        )


class NotYours(Refused):
    """There is no such thing, or it is another owner's: the same words for both."""

    def __init__(self) -> None:
        super().__init__("FORBIDDEN", "there is nothing of yours here", status=403)


class Conflict(Refused):
    """Another body has that key, or another teacher that submission; `held_by` says who."""

    def __init__(self, message: str, *, held_by: str | None = None) -> None:
        self.held_by = held_by
        super().__init__("CONFLICT", message, status=409)


class WrongState(Refused):
    """The submission's state does not allow what was requested."""

    def __init__(self, message: str) -> None:
        super().__init__("wrong_state", message, status=409)


class CallbackRefused(Refused):
    """A callback is not taken: its token is not good."""

    def __init__(self, message: str) -> None:
        super().__init__("callback_refused", message, status=403)
