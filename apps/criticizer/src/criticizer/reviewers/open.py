"""Chooses who reviews, by the variables of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, cast
from urllib.parse import urlsplit

from criticizer.reviewers.answers import ResponseFormat
from criticizer.reviewers.contract import Reviewer
from criticizer.reviewers.model import Limits, Model, ModelReviewer, Prices
from criticizer.reviewers.offline import OfflineReviewer
from criticizer.web_address import is_web_address
from holdfast.variables import Variables

Provider = Literal["openai", "anthropic", "offline"]
PROVIDERS: Final[tuple[Provider, ...]] = ("openai", "anthropic", "offline")
FORMATS: Final[tuple[ResponseFormat, ...]] = ("json_schema", "json_object", "text")
_DEFAULT_MODELS: Final[Mapping[Provider, str]] = {
    "openai": "gpt-5-mini",
    "anthropic": "claude-sonnet-4-5",
    "offline": "",
}
_MAX_PRICE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerConfig:
    """Who reviews. Without a model, rules do."""

    provider: Provider = "offline"
    url: str = ""
    """Where the API is; the provider's own place when it is empty."""
    key: str | None = field(default=None, repr=False)
    model: str = ""
    response_format: ResponseFormat = "json_schema"
    max_output_tokens: int | None = None
    limits: Limits = field(default_factory=Limits)
    prices: Prices = field(default_factory=Prices)

    @classmethod
    def read(cls, given: Variables) -> ReviewerConfig:
        """Return what the variables say: a model where there is a key or an address for one."""
        url, key = given.text("LLM_BASE_URL", ""), given.maybe("LLM_API_KEY")
        if url and not is_web_address(url):
            raise given.invalid("LLM_BASE_URL", "…", "like https://models.example.org/v1")
        provider = given.one_of("LLM_PROVIDER", PROVIDERS, default=_usual_provider(url, key))
        wanted = cast("Provider", provider)
        if wanted != "offline" and not url and key is None:
            raise given.invalid("LLM_API_KEY", "", f"set, because LLM_PROVIDER is {wanted}")
        usual = Limits()
        most_tokens = given.whole("LLM_MAX_OUTPUT_TOKENS", 0, most=1_000_000)
        return cls(
            provider=wanted,
            url=url,
            key=key,
            model=given.text("LLM_MODEL", _DEFAULT_MODELS[wanted]),
            response_format=cast(
                "ResponseFormat",
                given.one_of("LLM_RESPONSE_FORMAT", FORMATS, default="json_schema"),
            ),
            max_output_tokens=most_tokens or None,
            limits=Limits(
                max_part_bytes=given.whole(
                    "LLM_MAX_PART_BYTES", usual.max_part_bytes, least=4_096, most=4_194_304
                ),
                max_parts=given.whole("LLM_MAX_PARTS", usual.max_parts, least=1, most=100),
            ),
            prices=Prices(
                input_per_mtok=_price(given, "LLM_PRICE_INPUT_PER_MTOK"),
                output_per_mtok=_price(given, "LLM_PRICE_OUTPUT_PER_MTOK"),
            ),
        )


def open_reviewer(config: ReviewerConfig) -> Reviewer:
    """Return the reviewer that is configured; nobody is asked anything yet."""
    if config.provider == "offline":
        return OfflineReviewer()
    return ModelReviewer(_model(config), limits=config.limits)


def _model(config: ReviewerConfig) -> Model:
    """Return the model. Importing an SDK takes longer than many a review, so that only one is."""
    name = config.model or _DEFAULT_MODELS[config.provider]
    if config.provider == "anthropic":
        from criticizer.reviewers import anthropic  # noqa: PLC0415 - as above

        return anthropic.AnthropicModel(
            name,
            url=config.url or anthropic.DEFAULT_URL,
            key=config.key,
            prices=config.prices,
            max_output_tokens=config.max_output_tokens,
        )
    from criticizer.reviewers import openai  # noqa: PLC0415 - as above

    return openai.OpenAIModel(
        name,
        url=config.url or openai.DEFAULT_URL,
        key=config.key,
        prices=config.prices,
        response_format=config.response_format,
        max_output_tokens=config.max_output_tokens,
    )


def _usual_provider(url: str, key: str | None) -> Provider:
    host = urlsplit(url).hostname or ""
    if host == "anthropic.com" or host.endswith(".anthropic.com"):
        return "anthropic"
    return "openai" if url or key else "offline"


def _price(given: Variables, name: str) -> Decimal | None:
    text = given.maybe(name)
    if text is None:
        return None
    try:
        price = Decimal(text)
    except InvalidOperation:
        price = Decimal(-1)
    if not (price.is_finite() and 0 <= price <= _MAX_PRICE):
        raise given.invalid(name, text, f"dollars from 0 to {_MAX_PRICE}")
    return price
