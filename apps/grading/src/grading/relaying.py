"""How the relays of grading behave, on both sides."""

from __future__ import annotations

from typing import Final

from grading.config import GradingConfig
from holdfast.messaging import RelayOptions

GATHER_S: Final = 0.05
"""A submission has five messages within a moment: together they cost each side far less."""


def relay_options(config: GradingConfig) -> RelayOptions:
    """Return the options of a relay, as they are set."""
    return RelayOptions(
        batch_size=config.outbox_batch_size,
        poll_interval=config.outbox_poll_s,
        stale_threshold=config.outbox_stale_s,
        gather=GATHER_S,
    )
