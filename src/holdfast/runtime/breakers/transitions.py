"""How the moves of a breaker are announced, by whichever process."""

from __future__ import annotations

import logging
from typing import Final

from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import to_rfc3339
from holdfast.runtime.events.signals import GateMoved, Signal

LOGGER: Final = logging.getLogger("holdfast.breaker")
WORDS: Final = {Gate.OPEN: "opened", Gate.HALF_OPEN: "half-opened", Gate.CLOSED: "closed"}


def log_move(before: UpstreamState, after: UpstreamState, signal: Signal[GateMoved]) -> None:
    """Tell that a gate has moved, or that the upstream asked to be left alone."""
    signal.tell(GateMoved(before, after))
    facts = {
        "upstream": after.name,
        "breaker": after.gate.value,
        "generation": after.generation,
        "open_until": None if after.open_until is None else to_rfc3339(after.open_until),
        "paused_until": None if after.paused_until is None else to_rfc3339(after.paused_until),
    }
    if before.gate is not after.gate:
        LOGGER.log(
            logging.WARNING if after.gate is Gate.OPEN else logging.INFO,
            "the breaker of %s has %s",
            after.name,
            WORDS[after.gate],
            extra={"event": f"breaker_{after.gate.value}", **facts},
        )
    elif before.paused_until != after.paused_until and after.paused_until is not None:
        LOGGER.warning(
            "%s asked to be left alone", after.name, extra={"event": "rate_limited", **facts}
        )
