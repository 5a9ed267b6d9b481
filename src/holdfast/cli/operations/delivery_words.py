"""How a delivery stands, in plain words, and whose move it is."""

from __future__ import annotations

from typing import Final, assert_never

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.views.delivery import DeliveryView
from holdfast.views.durations import clock, span

STYLES: Final = {
    DeliveryState.SENDING: "cyan",
    DeliveryState.SENT: "green",
    DeliveryState.FAILED: "red",
    DeliveryState.UNKNOWN: "bold red",
}


def situation(view: DeliveryView) -> list[str]:
    """Return sentences: how the delivery stands, and what comes next."""
    row, now = view.delivery, view.read_at
    waits = f"in {span(row.run_at - now)}" if row.run_at > now else "now"
    match row.state:
        case DeliveryState.INTENT:
            if row.holder is not None:
                return [f"The courier {row.holder} is about to send it."]
            return [f"Nothing was handed to {row.provider}; it is to be sent {waits}."]
        case DeliveryState.SENDING:
            if row.holder is not None:
                return [f"The courier {row.holder} is sending it, or asks what became of it."]
            return [
                f"{row.provider} may have it. A courier finds that out, {waits}.",
            ]
        case DeliveryState.SENT:
            return [f"{row.provider} accepted it at {clock(row.notified_at or now)}."]
        case DeliveryState.FAILED:
            return [
                f"{row.provider} does not have it, and it is not tried any more.",
                f"To send it after all: holdfast deliveries resolve {row.id} --as resend",
            ]
        case DeliveryState.UNKNOWN:
            how = f"holdfast deliveries resolve {row.id} --as sent|resend|fail --reason …"
            return [
                f"Nobody can tell whether {row.provider} has it, and nothing is guessed.",
                f"Find out, then say so: {how}",
            ]
    assert_never(row.state)
