"""How the gateway is served: one frozen record."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

from converter.gateway.conversion import Engine
from converter.gateway.limits import Limits

PREFIX: Final = "CONVERTER_GATEWAY"
VARIABLES: Final = frozenset(
    f"{PREFIX}_{option}"
    for option in (
        "HOST",
        "PORT",
        "ENGINE",
        "CONCURRENCY",
        "WAITING",
        "BODY_S",
        "MAX_PDF_BYTES",
        "MAX_PAGES",
        "MAX_XML_BYTES",
        "CPU_S",
        "WALL_S",
        "MEMORY_MIB",
    )
)
"""What the command of the gateway reads from the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """How the gateway is served; `concurrency` conversions run, `waiting` requests may wait."""

    limits: Limits = field(default_factory=Limits)
    engine: Engine = Engine.AUTO
    concurrency: int = field(default_factory=lambda: os.cpu_count() or 1)
    waiting: int = 16
    body_s: float = 60.0
    """How long a client may take to send a file."""
