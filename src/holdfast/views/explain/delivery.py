"""How a delivery stands, and what comes next."""

from __future__ import annotations

from typing import assert_never

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.views.delivery import DeliveryView
from holdfast.views.durations import clock, span
from holdfast.views.explain.sentence import Sentence


def situation(view: DeliveryView) -> list[Sentence]:
    """Return sentences: how the delivery stands, and what comes next."""
    row, now = view.delivery, view.read_at
    waits = f"in {span(row.run_at - now)}" if row.run_at > now else "now"
    match row.state:
        case DeliveryState.INTENT:
            if row.holder is not None:
                return [Sentence(f"The courier {row.holder} is about to send it.")]
            return [Sentence(f"Nothing was handed to {row.provider}; it is to be sent {waits}.")]
        case DeliveryState.SENDING:
            if row.holder is not None:
                return [
                    Sentence(f"The courier {row.holder} is sending it, or asks what became of it.")
                ]
            return [Sentence(f"{row.provider} may have it. A courier finds that out, {waits}.")]
        case DeliveryState.SENT:
            return [Sentence(f"{row.provider} accepted it at {clock(row.notified_at or now)}.")]
        case DeliveryState.FAILED:
            return [
                Sentence(f"{row.provider} does not have it, and it is not tried any more."),
                Sentence(
                    "To send it after all", f"holdfast deliveries resolve {row.id} --as resend"
                ),
            ]
        case DeliveryState.UNKNOWN:
            return [
                Sentence(f"Nobody can tell whether {row.provider} has it, and nothing is guessed."),
                Sentence(
                    "Find out, then say so",
                    f"holdfast deliveries resolve {row.id} --as sent|resend|fail --reason …",
                ),
            ]
    assert_never(row.state)
