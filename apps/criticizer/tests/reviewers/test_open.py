"""Which reviewer the variables of the environment choose."""

from decimal import Decimal

import pytest

from criticizer.reviewers.model import ModelReviewer
from criticizer.reviewers.offline import OfflineReviewer
from criticizer.reviewers.open import ReviewerConfig, open_reviewer
from holdfast.errors import InvalidSetting
from holdfast.variables import Variables

KEY = "hunter2hunter2"


@pytest.mark.parametrize(
    ("given", "provider", "opened"),
    [
        ({}, "offline", OfflineReviewer),
        ({"LLM_API_KEY": KEY}, "openai", ModelReviewer),
        ({"LLM_BASE_URL": "http://127.0.0.1:11434/v1"}, "openai", ModelReviewer),
        (
            {"LLM_BASE_URL": "https://api.anthropic.com", "LLM_API_KEY": KEY},
            "anthropic",
            ModelReviewer,
        ),
        ({"LLM_PROVIDER": "anthropic", "LLM_API_KEY": KEY}, "anthropic", ModelReviewer),
        ({"LLM_PROVIDER": "OFFLINE", "LLM_API_KEY": KEY}, "offline", OfflineReviewer),
        ({"LLM_BASE_URL": "https://anthropic.com.example.org"}, "openai", ModelReviewer),
    ],
)
def test_the_variables_choose_who_reviews(given, provider, opened):
    config = ReviewerConfig.read(Variables(given))

    assert config.provider == provider
    assert isinstance(open_reviewer(config), opened)


def test_a_model_is_called_what_it_was_set_to():
    given = {"LLM_API_KEY": KEY, "LLM_MODEL": "m-1"}

    assert open_reviewer(ReviewerConfig.read(Variables(given))).name == "m-1"


def test_limits_and_prices_are_read():
    config = ReviewerConfig.read(
        Variables(
            {
                "LLM_MAX_PART_BYTES": "50000",
                "LLM_MAX_PARTS": "3",
                "LLM_MAX_OUTPUT_TOKENS": "900",
                "LLM_PRICE_INPUT_PER_MTOK": "2.50",
                "LLM_PRICE_OUTPUT_PER_MTOK": "10",
                "LLM_RESPONSE_FORMAT": "json_object",
            }
        )
    )

    assert (config.limits.max_part_bytes, config.limits.max_parts) == (50_000, 3)
    assert config.prices.input_per_mtok == Decimal("2.50")
    assert (config.max_output_tokens, config.response_format) == (900, "json_object")


@pytest.mark.parametrize(
    "given",
    [
        {"LLM_PROVIDER": "gemini"},
        {"LLM_PROVIDER": "openai"},
        {"LLM_PROVIDER": "anthropic"},
        {"LLM_BASE_URL": "models.example.org"},
        {"LLM_BASE_URL": f"https://ada:{KEY}@models.example.org"},
        {"LLM_MAX_PARTS": "0"},
        {"LLM_MAX_PART_BYTES": "10"},
        {"LLM_RESPONSE_FORMAT": "xml"},
        {"LLM_PRICE_INPUT_PER_MTOK": "cheap"},
        {"LLM_PRICE_INPUT_PER_MTOK": "NaN"},
        {"LLM_PRICE_OUTPUT_PER_MTOK": "-1"},
    ],
)
def test_what_cannot_be_used_is_refused_by_name(given):
    with pytest.raises(InvalidSetting, match="LLM_") as raised:
        ReviewerConfig.read(Variables(given))
    assert KEY not in str(raised.value)


def test_a_configuration_does_not_show_its_key():
    assert KEY not in repr(ReviewerConfig.read(Variables({"LLM_API_KEY": KEY})))
