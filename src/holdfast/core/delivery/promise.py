"""What a provider promises about messages that are handed to it more than once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Whether a provider drops what it has seen, and whether it can be asked. Times in seconds.

    With neither, a send whose answer was lost can only be judged by a person.
    """

    dedupes_for: float | None = None
    """How long the same token is dropped the second time; None when it never is."""
    lookup_lag: float | None = None
    """How long after a send a lookup may still miss it; None when there is no lookup."""
    lookup_for: float | None = None
    """How long after a send a lookup still finds it; None when it always does."""
    lookup_needs_id: bool = False
    """Whether a lookup can only be answered with the provider's own id of the message.

    Without one, such a provider cannot say that it has not seen a token.
    """
