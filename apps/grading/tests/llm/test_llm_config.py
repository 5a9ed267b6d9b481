"""What the variables say about the model."""

import pytest

from grading.llm import LlmConfig
from holdfast.errors import InvalidSetting
from holdfast.variables import Variables


def read(**environment):
    return LlmConfig.from_variables(Variables(environment, system="grading"))


def test_without_variables_the_rules_assess_once():
    config = read()

    assert (config.base_url, config.api_key, config.runs) == ("", None, 1)
    assert (config.timeout_s, config.response_format) == (60.0, "json_schema")
    assert config.max_cost_usd_per_day == 0


def test_every_variable_counts():
    config = read(
        LLM_BASE_URL="https://models.example.org/v1",
        LLM_API_KEY="sk-1",
        GRADING_LLM_MODEL="gpt-x",
        LLM_TIMEOUT_MS="1500",
        LLM_RUNS="3",
        LLM_RESPONSE_FORMAT="json_object",
        LLM_MAX_COST_USD_PER_DAY="12.5",
        LLM_PRICE_INPUT_PER_MTOK="0.25",
        LLM_PRICE_OUTPUT_PER_MTOK="2",
        LLM_MAX_OUTPUT_TOKENS="900",
    )

    assert config == LlmConfig(
        base_url="https://models.example.org/v1",
        api_key="sk-1",
        model="gpt-x",
        timeout_s=1.5,
        runs=3,
        response_format="json_object",
        max_cost_usd_per_day=12.5,
        price_input_per_mtok_usd=0.25,
        price_output_per_mtok_usd=2.0,
        max_output_tokens=900,
    )
    assert "sk-1" not in repr(config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_BASE_URL", "models.example.org"),
        ("LLM_BASE_URL", "ftp://models.example.org"),
        ("LLM_BASE_URL", "http://"),
        ("LLM_BASE_URL", "http://x:99999"),
        ("LLM_RUNS", "0"),
        ("LLM_RUNS", "6"),
        ("LLM_TIMEOUT_MS", "soon"),
        ("LLM_RESPONSE_FORMAT", "xml"),
        ("LLM_MAX_COST_USD_PER_DAY", "-1"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name, value):
    with pytest.raises(InvalidSetting, match=name):
        read(**{name: value})
