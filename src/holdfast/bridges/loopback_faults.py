"""How a loopback transport misbehaves, for development and for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, get_args

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.outbox import OutboxMessage
from holdfast.errors import InvalidValue

LoopbackMode = Literal["healthy", "down", "loses_confirms", "delivers_twice", "delays"]
"""What a loopback transport does with the messages it gets."""

MODES: Final[tuple[LoopbackMode, ...]] = get_args(LoopbackMode)
EXPLANATIONS: Final[dict[str, str]] = {
    "healthy": "Hands every message over once.",
    "down": "Takes nothing: messages wait in the outbox.",
    "loses_confirms": "Hands messages over and loses the confirmation, so that they come again.",
    "delivers_twice": "Hands every message over twice.",
    "delays": "Hands messages over after a while.",
}
DELAY_S: Final = 10.0
MAX_DELAY_S: Final = 86_400.0


class _Setting(NamedTuple):
    mode: LoopbackMode
    delay_s: float
    delayed_types: frozenset[str]


class LoopbackFaults:
    """What a loopback transport does wrong from now on; any thread may change it.

    With the mode `delays` a message is handed over `delay_s` seconds after it was stored; with
    `delayed_types` those of other types are not delayed.
    """

    def __init__(
        self,
        mode: LoopbackMode = "healthy",
        *,
        delay_s: float = DELAY_S,
        delayed_types: Iterable[str] = (),
    ) -> None:
        self._lock = threading.Lock()
        self._setting = _Setting(
            _checked_mode(mode), _checked_delay(delay_s), frozenset(delayed_types)
        )

    @property
    def mode(self) -> LoopbackMode:
        """What it does with messages."""
        return self._setting.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        checked = _checked_mode(mode)
        with self._lock:
            self._setting = self._setting._replace(mode=checked)

    @property
    def delay_s(self) -> float:
        """How many seconds a delayed message waits after it was stored."""
        return self._setting.delay_s

    @delay_s.setter
    def delay_s(self, delay_s: float) -> None:
        checked = _checked_delay(delay_s)
        with self._lock:
            self._setting = self._setting._replace(delay_s=checked)

    @property
    def delayed_types(self) -> frozenset[str]:
        """The types of messages that are delayed; all of them while it is empty."""
        return self._setting.delayed_types

    @delayed_types.setter
    def delayed_types(self, types: Iterable[str]) -> None:
        checked = frozenset(types)
        with self._lock:
            self._setting = self._setting._replace(delayed_types=checked)

    def due_at(self, message: OutboxMessage) -> Instant | None:
        """Return the instant before which a message is held back, or None when it is not."""
        mode, delay_s, types = self._setting
        if mode != "delays" or (types and message.message_type not in types):
            return None
        return later(message.created_at, int(delay_s * SECOND_US))


def _checked_mode(mode: str) -> LoopbackMode:
    for known in MODES:
        if mode == known:
            return known
    raise InvalidValue(
        "LoopbackFaults", field="mode", value=mode, limit=f"one of {', '.join(MODES)}"
    )


def _checked_delay(delay_s: object) -> float:
    if (
        isinstance(delay_s, bool)
        or not isinstance(delay_s, int | float)
        or not 0 <= delay_s <= MAX_DELAY_S
    ):
        limit = f"a number of seconds from 0 to {MAX_DELAY_S:g}"
        raise InvalidValue("LoopbackFaults", field="delay_s", value=delay_s, limit=limit)
    return float(delay_s)
