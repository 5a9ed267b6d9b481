"""Which model assesses, by the variables of the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, Self, cast
from urllib.parse import urlsplit

from holdfast.variables import Variables

ResponseFormat = Literal["json_schema", "json_object", "text"]
"""How strictly an endpoint can be held to JSON."""
FORMATS: Final[tuple[ResponseFormat, ...]] = ("json_schema", "json_object", "text")
DEFAULT_MODEL: Final = "gpt-5-mini"
DEFAULT_TIMEOUT_S: Final = 60.0
MAX_RUNS: Final = 5
_MTOK: Final = 1_000_000
_MAX_USD: Final = 1_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmConfig:
    """Who assesses: the model at `base_url`, or the rules where that is empty."""

    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    model: str = DEFAULT_MODEL
    timeout_s: float = DEFAULT_TIMEOUT_S
    runs: int = 1
    """How often each text is assessed; from two on, how far they agree counts."""
    response_format: ResponseFormat = "json_schema"
    max_cost_usd_per_day: float = 0.0
    """What paid calls may cost within a day; 0 is no limit."""
    price_input_per_mtok_usd: float = 0.0
    price_output_per_mtok_usd: float = 0.0
    max_output_tokens: int | None = None

    @classmethod
    def from_variables(cls, given: Variables) -> Self:
        """Return what the variables say, or raise `InvalidSetting`."""
        url = given.text("LLM_BASE_URL", "")
        if url and not _is_web_address(url):
            raise given.invalid("LLM_BASE_URL", "…", "like https://models.example.org/v1")
        tokens = given.whole("LLM_MAX_OUTPUT_TOKENS", 0, most=1_000_000)
        return cls(
            base_url=url,
            api_key=given.maybe("LLM_API_KEY"),
            model=given.text("LLM_MODEL", DEFAULT_MODEL),
            timeout_s=given.seconds("LLM_TIMEOUT_MS", DEFAULT_TIMEOUT_S),
            runs=given.whole("LLM_RUNS", 1, least=1, most=MAX_RUNS),
            response_format=cast(
                "ResponseFormat",
                given.one_of("LLM_RESPONSE_FORMAT", FORMATS, default="json_schema"),
            ),
            max_cost_usd_per_day=_usd(given, "LLM_MAX_COST_USD_PER_DAY"),
            price_input_per_mtok_usd=_usd(given, "LLM_PRICE_INPUT_PER_MTOK"),
            price_output_per_mtok_usd=_usd(given, "LLM_PRICE_OUTPUT_PER_MTOK"),
            max_output_tokens=tokens or None,
        )

    def usd_of(self, *, input_tokens: int, output_tokens: int) -> float:
        """Return what a call costs, by the prices that are set."""
        spent = (
            self.price_input_per_mtok_usd * input_tokens
            + self.price_output_per_mtok_usd * output_tokens
        )
        return round(spent / _MTOK, 8)


def _usd(given: Variables, name: str) -> float:
    return given.number(name, 0.0, least=0.0, most=_MAX_USD)


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0
