"""How a stand-in upstream behaves."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Behaviour(StrEnum):
    """What a stand-in does with the calls it gets."""

    HEALTHY = "healthy"
    SLOW = "slow"
    FAILING = "failing"
    LIMITING = "limiting"
    HANGING = "hanging"
    DOWN = "down"


SLOW_S: Final = 2.0
"""How long an answer takes that is slow, and still in time."""
RETRY_AFTER_S: Final = 10
"""For how long a stand-in that limits asks to be left alone."""

TITLES: Final = {
    Behaviour.HEALTHY: "Healthy",
    Behaviour.SLOW: "Slow",
    Behaviour.FAILING: "5xx",
    Behaviour.LIMITING: "429",
    Behaviour.HANGING: "Time-outs",
    Behaviour.DOWN: "Down",
}
EXPLANATIONS: Final = {
    Behaviour.HEALTHY: "Answers at once.",
    Behaviour.SLOW: f"Answers after {SLOW_S:g} seconds.",
    Behaviour.FAILING: "Answers 500, 502 and 503 in turn.",
    Behaviour.LIMITING: f"Answers 429 with Retry-After: {RETRY_AFTER_S}.",
    Behaviour.HANGING: "Takes calls and never answers.",
    Behaviour.DOWN: "Refuses connections.",
}
