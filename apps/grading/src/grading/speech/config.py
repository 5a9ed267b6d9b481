"""What transcribes recordings, by the variables of the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from grading.audio.links import Origin
from holdfast.variables import Variables

DEFAULT_MODEL: Final = "whisper-1"
DEFAULT_TIMEOUT_S: Final = 120.0
_MAX_USD: Final = 1_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SttConfig:
    """What transcribes: the API at `base_url`, or the packaged recogniser where that is empty."""

    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    model: str = DEFAULT_MODEL
    timeout_s: float = DEFAULT_TIMEOUT_S
    price_per_minute_usd: float = 0.0

    @classmethod
    def from_variables(cls, given: Variables) -> Self:
        """Return what the variables say, or raise `InvalidSetting`."""
        url = given.text("STT_BASE_URL", "")
        if url and Origin.of(url) is None:
            raise given.invalid("STT_BASE_URL", "…", "like https://speech.example.org/v1")
        return cls(
            base_url=url,
            api_key=given.maybe("STT_API_KEY"),
            model=given.text("STT_MODEL", DEFAULT_MODEL),
            timeout_s=given.seconds("STT_TIMEOUT_MS", DEFAULT_TIMEOUT_S),
            price_per_minute_usd=given.number(
                "STT_PRICE_PER_MINUTE", 0.0, least=0.0, most=_MAX_USD
            ),
        )

    def usd_of(self, seconds: float) -> float:
        """Return what a recording of so many seconds costs, by the price that is set."""
        return round(self.price_per_minute_usd * seconds / 60, 8)
