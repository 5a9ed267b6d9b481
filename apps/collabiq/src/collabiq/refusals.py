"""Why a request is refused: each refusal has its code and its HTTP status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Refused(Exception):
    """A request is refused, and nothing was changed; `message` says what to do."""

    def __init__(
        self, code: str, message: str, *, status: int, pointers: Sequence[dict[str, Any]] = ()
    ) -> None:
        self.code, self.message, self.status = code, message, status
        self.pointers = tuple(pointers)
        """Places of a body that do not fit: `pointer` and `message` of each."""
        super().__init__(message)


class EmailNotFound(Refused):
    """There is no such e-mail, or not for this owner."""

    def __init__(self, email_id: str) -> None:
        super().__init__("email_not_found", f"there is no e-mail {email_id[:64]!r}", status=404)


class DeadLetterNotFound(Refused):
    """There is no such entry of the dead letter queue."""

    def __init__(self, dlq_id: str) -> None:
        super().__init__("dlq_not_found", f"there is no dead letter {dlq_id[:200]!r}", status=404)


class AlreadyProcessed(Refused):
    """The entry was replayed with success before."""

    def __init__(self, dlq_id: str) -> None:
        super().__init__(
            "already_processed",
            f"{dlq_id} was replayed with success; to run its e-mail again, process the e-mail",
            status=409,
        )


class WrongState(Refused):
    """The state of an e-mail does not allow what was requested."""

    def __init__(self, message: str) -> None:
        super().__init__("wrong_state", message, status=409)


class NotAMailRefused(Refused):
    """What was sent is no mail."""

    def __init__(self) -> None:
        super().__init__(
            "not_a_mail", "this is no mail: it is empty or has no header; send one", status=422
        )


class TooLarge(Refused):
    """What was sent has more bytes than are taken."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__("too_large", f"a mail may have {limit_bytes} bytes at most", status=413)


class InvalidCursor(Refused):
    """A cursor was not made by this list."""

    def __init__(self) -> None:
        super().__init__(
            "invalid_cursor",
            "the cursor is not one of this list; begin with the first page",
            status=400,
        )


class Invalid(Refused):
    """A body does not fit; `pointers` has every place."""

    def __init__(self, pointers: Sequence[dict[str, Any]]) -> None:
        words = "; ".join(f"{each['pointer'] or 'body'}: {each['message']}" for each in pointers)
        super().__init__("invalid", words, status=422, pointers=pointers)


def flaw(pointer: str, message: str) -> dict[str, Any]:
    """Return one place of a body that does not fit; `pointer` is a JSON pointer."""
    return {"pointer": pointer, "message": message}
